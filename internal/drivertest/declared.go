package drivertest

import (
	"errors"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
)

// LongHorizon is what a namespace is declared with that has long windows.
const LongHorizon = 6 * time.Hour

// LongRequest is a request by a holder that survives, for as long as a namespace allows that is
// declared with [LongHorizon].
func LongRequest(n int) coord.Request {
	req := Request(n)
	req.Surviving, req.Until = true, req.Now+LongHorizon.Milliseconds()
	return req
}

// Operated is a coordinator whose namespace an operator can change and see.
type Operated interface {
	coord.Coordinator
	coord.Admin
}

// LossOfLongWindows declares a namespace with [LongHorizon], and has the back end lose state: who
// notices it waits for as long, whatever its own windows are. Connect returns coordinators of a new
// namespace; keep returns what has the back end lose all that is written after it, which holders
// notice.
func LossOfLongWindows(t *testing.T, connect func() Operated, keep func() (lose func())) {
	t.Helper()
	space := Space()
	space.MaxHorizon = LongHorizon
	if err := connect().Init(Within(t), space); err != nil {
		t.Fatal(err)
	}
	a := connect()
	short := MustAcquire(t, a, Request(Capacity))
	lose := keep()
	gone := MustAcquire(t, connect(), LongRequest(Capacity))
	for range 20 {
		var err error
		if short, err = a.Renew(Within(t), short, short.NotAfter+10); err != nil {
			t.Fatal(err)
		}
	}
	lose()
	least := TickNow() + LongHorizon.Milliseconds()
	var quarantined *coord.QuarantinedError
	streamtest.Eventually(t, "the loss is noticed", func() bool {
		r, err := a.Renew(Within(t), short, TickNow()+10_000)
		if err == nil || errors.Is(err, coord.ErrLeaseLost) {
			t.Fatalf("Renew of %v after the loss: %v, %v", short, r, err)
		}
		return errors.As(err, &quarantined)
	})
	if until := Scale().Tick(quarantined.Until.UnixMicro()); until < least {
		t.Errorf("quarantined until tick %d; want at least %d", until, least)
	}
	if g := MustAcquire(t, connect(), Request(Capacity)); g.NotBefore < least || g.NotBefore < gone.NotAfter {
		t.Errorf("%v was lost, and %v is granted; want it to begin at %d or above", gone, g, least)
	}
	if n, err := a.Inspect(Within(t)); err != nil || n.MaxHorizon != LongHorizon || Scale().Tick(n.Lost.UnixMicro()) < least {
		t.Errorf("Inspect: %+v, %v; want a loss on record whose floor is at least %d", n, err, least)
	}
}
