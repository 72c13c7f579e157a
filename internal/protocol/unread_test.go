package protocol_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/protocol/memstore"
)

// TestLeasesThatWereNotRead: no answer in time is no lack of leases. A starter would give up that
// is told of none that ends. One that has just ended is asked for again.
func TestLeasesThatWereNotRead(t *testing.T) {
	c, st := tap(t, memstore.NewServer("one"), nil)
	share := drivertest.Request(1)
	share.Workers.Count = 1
	first := drivertest.MustAcquire(t, c, share)
	ctx, cancel := context.WithCancel(drivertest.Within(t))
	st.blind = cancel
	share.Token = "second"
	_, err := c.Acquire(ctx, share)
	if errors.Is(err, coord.ErrNoWorkerID) || !errors.Is(err, context.Canceled) {
		t.Errorf("Acquire: %v; want that of its context", err)
	}
	st.blind = func() {}
	_, err = c.Acquire(drivertest.Within(t), share)
	if err == nil || coord.Permanent(err) ||
		!strings.Contains(err.Error(), "1 of 1 worker IDs are held") {
		t.Errorf("Acquire: %v; want an error for the moment, which says what is held", err)
	}
	st.blind = func() {
		st.blind = nil
		if err := c.Release(drivertest.Within(t), first, first.NotBefore); err != nil {
			t.Error(err)
		}
	}
	drivertest.MustAcquire(t, c, share)
}
