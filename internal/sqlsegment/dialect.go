package sqlsegment

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/unalike-id/unalike/internal/sqldb"
)

// DB is a database, as a store sees it.
type DB interface {
	// Transact makes statements in one transaction and one round trip, whatever the connection's
	// settings are, and returns the rows of the last one as text; NULL is empty. When it returns, what
	// was written is committed.
	Transact(ctx context.Context, write bool, statements []sqldb.Statement) ([][]string, error)
	// Once is Transact for what must not be done twice. It is two messages, so that no proxy repeats
	// it by itself.
	Once(ctx context.Context, statements []sqldb.Statement) ([][]string, error)
	// Check returns an error if the pool cannot be used.
	Check() error
	// Class says what an error means.
	Class(err error) sqldb.Class
	// Close frees what was made for the store.
	Close() error
}

// Dialect is how a database writes things. In its texts {table} and {meta} are the tables,
// {identity} is the server, {key} is the name of the tag's row in {meta}; $TAG and the like are
// literals.
type Dialect struct {
	sqldb.Words
	// Quote is a name, and Plain a text that goes with others in a column.
	Quote, Plain func(s string) string
	// Lock is a statement that locks the row of $TAG and saves its max_id, or -1 for NULL, until the
	// transaction ends. Was is the expression for the saved value.
	Lock, Was string
	// Abort is an expression that ends the transaction with an error of the class [sqldb.Mismatch] if
	// {wrong} is true.
	Abort string
	// Held is a statement that locks the record against changes until the transaction ends, and fails
	// if the snapshot of the transaction is older than the record. Empty: an UPDATE reads the newest
	// record at every isolation level.
	Held string
	// Nested is a query that returns t if the row of $TAG was changed behind a savepoint, and f if it
	// was not. Empty: the database cannot report that.
	Nested string
	// Prompt is the condition that Lock has waited for at most $WAIT microseconds. After a longer wait
	// the caller has given up.
	Prompt string
	// Unsafe is a setting of a server with which what a take changes is not stored elsewhere as it is
	// here.
	Unsafe sqldb.Risk
	// Unfit is a property of {table} or {meta} with which the store refuses them: rows may be hidden
	// from this user, or changes are not rolled back. $SCHEMA and $TABLE name the table. Says has a
	// formatting verb for the names of both.
	Unfit sqldb.Risk
	// Key is the expression {key}: $ALL, a colon, and the tag as biz_tag has it.
	Key string
	// Types is a query of the names of the columns max_id and step in table $TABLE of schema $SCHEMA,
	// which may be empty, and their types. No row: there is no such table.
	Types string
	// Updated is an expression: seconds since 1970 of the last change. Updates is what sets it in an
	// UPDATE.
	Updated, Updates string
	// All ends an UPDATE of all rows, whatever the settings are.
	All          string
	Schema, Meta string // statements that make the tables
	// Risks are settings with which a server may lose what it has confirmed. $SCHEMA and $TABLE are
	// the table.
	Risks []sqldb.Risk
}

// table is a name of the form table or schema.table.
type table struct{ schema, name string }

// quoted is the name as statements have it.
func (t table) quoted(d *Dialect, name string) string {
	if t.schema == "" {
		return d.Quote(name)
	}
	return d.Quote(t.schema) + "." + d.Quote(name)
}

// String is the name as people write it.
func (t table) String() string { return strings.TrimPrefix(t.schema+"."+t.name, ".") }

// metaName is the name of our own table.
const metaName = "unalike_meta"

// values are what a text leaves open, by name: texts, numbers and expressions.
type values map[string]any

// expression is a value that is written as it is.
type expression string

// write fills in what a text leaves open. What a value contains is left as it is.
func (s *Store) write(text string, v values) string {
	d := &s.dialect
	text = strings.NewReplacer(
		"{identity}", s.identity, "{key}", d.Key, "{was}", d.Was, "{unsafe}", d.Unsafe.If,
	).Replace(text)
	pairs := []string{
		"{table}", s.table.quoted(d, s.table.name), "{meta}", s.table.quoted(d, metaName),
		"{now}", d.Now, "{updated}", d.Updated, "{updates}", d.Updates, "{all}", d.All,
		"$ALL", d.Text(s.table.name), "$MINUTES", d.Text(s.table.name + "!minutes"),
		"$SCHEMA", d.Text(s.table.schema), "$TABLE", d.Text(s.table.name),
	}
	for name, value := range v {
		literal := fmt.Sprint(value)
		if text, ok := value.(string); ok {
			literal = d.Text(text)
		}
		pairs = append(pairs, name, literal)
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// schemaText is the statement that makes the table.
func (s *Store) schemaText() string { return s.write(s.dialect.Schema, nil) }

// setup makes what is missing. The rights are comments: only who runs it knows the user.
func (s *Store) setup() string {
	right := s.write("-- GRANT SELECT, INSERT, UPDATE ON {table} TO user;\n"+
		"-- GRANT SELECT, INSERT, UPDATE ON {meta} TO user;", nil)
	return s.schemaText() + ";\n" + s.write(s.dialect.Meta, nil) + ";\n" + right
}

// Schema is the statement that makes a table; empty: the default one. A name that is none gives an
// empty statement.
func Schema(d Dialect, name string) string {
	t, err := parseTable(cmp.Or(name, DefaultTable))
	if err != nil {
		return ""
	}
	return (&Store{dialect: d, table: t}).schemaText()
}
