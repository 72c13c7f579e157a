package sqltest

import (
	"database/sql"
	"fmt"
	"testing"

	"github.com/unalike-id/unalike/internal/drivertest"
)

// Hand is for what is done by hand in a database, by somebody with all rights.
type Hand struct {
	testing.TB
	SQL *sql.DB
}

// Do makes statements.
func (h Hand) Do(statements ...string) {
	h.Helper()
	for _, s := range statements {
		if _, err := h.SQL.ExecContext(drivertest.Within(h), s); err != nil {
			h.Fatalf("%s: %v", s, err)
		}
	}
}

// Exec makes a statement by hand.
func (h Hand) Exec(format string, args ...any) {
	h.Helper()
	h.Do(fmt.Sprintf(format, args...))
}

// Int reads a number by hand.
func (h Hand) Int(format string, args ...any) int64 {
	h.Helper()
	return read[int64](h, fmt.Sprintf(format, args...))
}

// Text reads a text by hand.
func (h Hand) Text(format string, args ...any) string {
	h.Helper()
	return read[string](h, fmt.Sprintf(format, args...))
}

func read[T any](h Hand, query string) (value T) {
	h.Helper()
	if err := h.SQL.QueryRowContext(drivertest.Within(h), query).Scan(&value); err != nil {
		h.Fatalf("%s: %v", query, err)
	}
	return value
}
