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
// {identity} is the lineage; $TAG and the like are literals.
type Dialect struct {
	sqldb.Words
	// Quote is a name, and Plain a text that goes with others in a column.
	Quote, Plain func(s string) string
	// Changed returns statements which make an UPDATE of $TAG that adds $SIZE to {raised}, and return
	// a row: how many rows that has changed, max_id and step then, and {raised} before.
	Changed func(update string) []string
	Raised  string // is max_id, as {raised}
	// Prompt is a condition: a statement has not waited for longer than $WAIT microseconds. Who has
	// asked for it is gone by then.
	Prompt string
	// Unsafe is a setting of a server with which what a take changes is not stored elsewhere as it is
	// here.
	Unsafe sqldb.Risk
	// Hidden is the condition that rows of {table} or {meta} may be hidden from this user. $SCHEMA and
	// $TABLE name the table.
	Hidden string
	// Key is an expression: the name of the row of our own table for the tag in biz_tag; $ALL is that
	// for all tags.
	Key string
	// Types is a query of the names of the columns max_id and step in table $TABLE of schema $SCHEMA,
	// which may be empty, and their types. No row: there is no such table.
	Types string
	// Updated is an expression: seconds since 1970 of the last change. Updates is what sets it in an
	// UPDATE.
	Updated, Updates string
	// Replaced ends an INSERT that replaces the identity and the stamp of a row that is there.
	Replaced string
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

// write fills in what a text leaves open, in one go: what a value contains is left as it is.
func (s *Store) write(text string, v values) string {
	d := &s.dialect
	pairs := []string{
		"{table}", s.table.quoted(d, s.table.name), "{meta}", s.table.quoted(d, metaName),
		"{identity}", d.Lineage, "{now}", d.Now, "{updated}", d.Updated, "{updates}", d.Updates,
		"{raised}", d.Raised, "{unsafe}", d.Unsafe.If, "{all}", d.All,
		"$ALL", d.Text(s.table.name), "$SCHEMA", d.Text(s.table.schema), "$TABLE", d.Text(s.table.name),
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

// grants gives a user the rights that a program needs, as comments: only who runs it knows the
// user.
func (s *Store) grants() string {
	right := func(table string) string {
		return "-- GRANT SELECT, INSERT, UPDATE ON " + table + " TO user;"
	}
	return right(s.write("{table}", nil)) + "\n" + right(s.write("{meta}", nil))
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
