package pgdb

import (
	"context"

	"github.com/jackc/pgx/v5/pgconn"
)

// Send sends one message of several statements. After an error that the server has answered with,
// the connection is as good as before.
func Send(ctx context.Context, c *pgconn.PgConn, message string) ([]*pgconn.Result, error) {
	results, err := c.Exec(ctx, message).ReadAll()
	if err != nil && c.TxStatus() == 'E' {
		_, _ = c.Exec(ctx, "ROLLBACK").ReadAll()
	}
	return results, err
}

// Rows are the rows of a result, as text; NULL is empty.
func Rows(r *pgconn.Result) [][]string {
	all := make([][]string, len(r.Rows))
	for i, row := range r.Rows {
		for _, value := range row {
			all[i] = append(all[i], string(value))
		}
	}
	return all
}
