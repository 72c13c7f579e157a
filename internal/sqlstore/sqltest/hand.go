package sqltest

import (
	"database/sql"
	"fmt"
	"testing"

	"github.com/unalike-id/unalike/internal/drivertest"
)

// Hand is for what is done by hand in a database, by somebody with all rights.
type Hand struct{ SQL *sql.DB }

// Do makes statements.
func (h Hand) Do(tb testing.TB, statements ...string) {
	tb.Helper()
	for _, s := range statements {
		if _, err := h.SQL.ExecContext(drivertest.Within(tb), s); err != nil {
			tb.Fatalf("%s: %v", s, err)
		}
	}
}

// Exec makes a statement by hand.
func (h Hand) Exec(tb testing.TB, format string, args ...any) {
	tb.Helper()
	h.Do(tb, fmt.Sprintf(format, args...))
}

// Int reads a number by hand.
func (h Hand) Int(tb testing.TB, format string, args ...any) int64 {
	tb.Helper()
	return read[int64](tb, h, fmt.Sprintf(format, args...))
}

// Text reads a text by hand.
func (h Hand) Text(tb testing.TB, format string, args ...any) string {
	tb.Helper()
	return read[string](tb, h, fmt.Sprintf(format, args...))
}

func read[T any](tb testing.TB, h Hand, query string) (value T) {
	tb.Helper()
	if err := h.SQL.QueryRowContext(drivertest.Within(tb), query).Scan(&value); err != nil {
		tb.Fatalf("%s: %v", query, err)
	}
	return value
}
