package sqlstore

import (
	"context"
	"strings"

	"github.com/unalike-id/unalike/internal/sqldb"
)

// Statement is one of a transaction.
type Statement = sqldb.Statement

// DB is a database, as a store sees it.
type DB interface {
	// Transact makes statements in one transaction and one round trip, and returns the rows
	// of the last one. The server begins when it has all of them: it waits for nobody within a
	// transaction that has locked something. Those of a transaction that reads see the same state; one
	// that writes is kept by the server before it is confirmed. After an error nothing was done if its
	// [sqldb.Class] says so; otherwise the outcome is unknown.
	Transact(ctx context.Context, write bool, statements []Statement) ([][]string, error)
	// Class says what an error of Transact means.
	Class(err error) sqldb.Class
	// Rest closes connections of its own, see [protocol.Rester].
	Rest()
	// Number reads what Dialect.Number returns.
	Number(s string) (int64, error)
}

// Dialect is what differs between the SQL of databases.
type Dialect struct {
	Driver, Title string // of the coordinator

	sqldb.Words
	Number string // an expression: text that tells how many writes there were
	Ticket string // an expression: the next ticket; 0: there are none
	// Touch is a statement that writes, if only what nobody compares, about the namespace $1 and
	// its worker ID $2. Its transaction is kept when it is confirmed, and with it all that it has
	// seen of others, which may be visible before they are kept.
	Touch string
	// Shared and Alone are statements that lock the namespace $1 until the end of the
	// transaction: who has it shared is not there together with who has it alone.
	Shared, Exclusive string

	Series func(n int) string
	Schema []string // makes the tables and the view
	Grants []string // the rights that a user needs on them: what follows GRANT, without the user
	Risks  []sqldb.Risk
	// Hidden is the condition that rows of the tables may be hidden from this user.
	Hidden string
}

// riskRows are the rows of the risks that a server has.
func (d Dialect) riskRows() string {
	var b strings.Builder
	for _, r := range d.Risks {
		b.WriteString(" UNION ALL SELECT 'r', 0, 0, 0, 0, 0, '', '" + r.Name +
			"' FROM {history} WHERE namespace = '*' AND (" + r.If + ")")
	}
	return b.String()
}

// names are the tables, and the dialect's words, of all statements.
func (d Dialect) names(prefix string) *strings.Replacer {
	return strings.NewReplacer(
		"{namespaces}", prefix+"namespaces", "{slots}", prefix+"slots",
		"{history}", prefix+"history", "{workers}", prefix+"workers", "{prefix}", prefix,
		"{ticket}", strings.ReplaceAll(d.Ticket, "{prefix}", prefix), "{now}", d.Now, "{number}",
		d.Number, "{lineage}", d.Lineage, "{hidden}", strings.ReplaceAll(d.Hidden, "{prefix}", prefix),
		"{insert}", d.Insert, "{present}", d.Present,
	)
}

// risks lists the names of the risks.
func (d Dialect) risks() string {
	names := make([]string, len(d.Risks))
	for i, r := range d.Risks {
		names[i] = r.Name
	}
	return strings.Join(names, ", ")
}
