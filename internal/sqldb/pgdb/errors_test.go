package pgdb

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// TestAsked: it is asked what listens there only where something has accepted the connection and
// has not said what is wrong.
func TestAsked(t *testing.T) {
	for _, tt := range []struct {
		err  error
		asks bool
	}{
		{io.ErrUnexpectedEOF, true},
		{&net.DNSError{Err: "no such host", Name: "h.invalid", IsNotFound: true}, false},
		{&net.OpError{Op: "dial", Err: errors.New("connection refused")}, false},
		{&net.OpError{Op: "read", Err: errors.New("connection reset")}, true},
		{&pgconn.PgError{Code: "28P01"}, false},
	} {
		err := asked(new(pgx.ConnConfig), fmt.Errorf("connecting: %w", tt.err))
		if asks := strings.Contains(err.Error(),
			"is it the port of a PostgreSQL for clients?"); asks != tt.asks || !errors.Is(err, tt.err) {
			t.Errorf("%v: asks %t, want %t", err, asks, tt.asks)
		}
	}
}
