package sqlsegment

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/unalike-id/unalike/internal/sqldb"
)

// DB sends statements.
type DB interface {
	// Take runs a statement of [Dialect.Take] in one round trip, and returns max_id as it is then; done is false if
	// the statement has changed nothing. When it returns, the change is committed.
	Take(ctx context.Context, statement string) (next int64, done bool, err error)
	// Query runs one statement that reads, and returns its rows as text; NULL is empty.
	Query(ctx context.Context, statement string) ([][]string, error)
	// Transact runs f within a transaction, whatever the connection's settings are, and commits it if f returns nil.
	// Exec runs one statement, is sent once, and returns how many rows were changed.
	Transact(ctx context.Context, f func(exec Exec) error) error
	// Class sorts an error.
	Class(err error) sqldb.Class
	// Close frees what was made for the store.
	Close() error
}

// Exec runs a statement of a transaction.
type Exec func(statement string) (changed int64, err error)

// Dialect is how a database writes things. In its texts {table} and {meta} are the tables, {identity} is
// Identity; $TAG and the like are literals.
type Dialect struct {
	Name     string // of the database, for errors
	Identity string // expression: which server this is
	Now      string // expression: microseconds since 1970
	// Text is a literal, and Quote a name.
	Text  func(s string) string
	Quote func(name string) string
	// Take adds $STEP to max_id of $TAG, if that is from 0 to $MOST, the server is $IDENTITY, {unsafe} is 0 and {newer} holds.
	Take string
	// Unsafe are settings of a server or a connection with which what Take changes is not stored when it is confirmed.
	Unsafe []Risk
	// Newer is a condition for {newer}: no row of our own table, neither that of all tags, $ALL, nor that of $TAG, is newer than $STAMP.
	Newer string
	// Types returns the types of max_id and step in table $TABLE of schema $SCHEMA, which may be empty, one row each:
	// the column's name and its type. No row: there is no such table.
	Types string
	// Updated is an expression: seconds since 1970 of the last change.
	Updated string
	// Ignore begins an INSERT that leaves a row that is there, and Ignored ends it. Replaced ends one that replaces
	// the identity and the stamp of such a row.
	Ignore, Ignored, Replaced string
	// All ends a statement that is about all rows, whatever the settings are.
	All          string
	Schema, Meta string // statements that make the tables
	Risks        []Risk
}

// Risk is a setting with which a server may lose what it has confirmed. $SCHEMA and $TABLE are the table.
type Risk struct{ If, Says string }

// unsafe is an expression: which of the unsafe settings there is, from 1; 0: none.
func (d *Dialect) unsafe() string {
	text := "CASE WHEN 1 = 0 THEN 0"
	for i, r := range d.Unsafe {
		text += fmt.Sprintf(" WHEN %s THEN %d", r.If, i+1)
	}
	return text + " ELSE 0 END"
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

// write fills in what a text of a dialect leaves open. Pairs are the names of values and the values.
func (s *Store) write(text string, pairs ...string) string {
	names := append([]string{
		"{table}", s.table.quoted(&s.dialect, s.table.name), "{meta}", s.table.quoted(&s.dialect, metaName),
		"{identity}", s.dialect.Identity, "{now}", s.dialect.Now, "{updated}", s.dialect.Updated, "{unsafe}", s.dialect.unsafe(), "{all}", s.dialect.All,
	}, pairs...)
	return strings.NewReplacer(names...).Replace(text)
}

// schemaText is the statement that makes the table.
func (s *Store) schemaText() string { return s.write(s.dialect.Schema) }

// Schema is the statement that makes a table; empty: the default one. A name that is none gives an empty statement.
func Schema(d Dialect, name string) string {
	t, err := parseTable(cmp.Or(name, DefaultTable))
	if err != nil {
		return ""
	}
	return (&Store{dialect: d, table: t}).schemaText()
}
