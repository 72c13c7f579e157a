package coordtest

import (
	"context"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
)

// inspected is a coordinator whose namespace can be changed and shown.
type inspected interface {
	coord.Admin
	coord.Inspector
}

// CheckInspect checks what a coordinator shows of a namespace that nobody has used: that
// it is not there, that it is, its floor, and that it is closed. Looking changes nothing.
// It blocks for as long as the back end needs, bounded by ctx.
func CheckInspect(ctx context.Context, tb testing.TB, c inspected, s coord.Space) {
	tb.Helper()
	wants := func(want coord.Namespace) {
		tb.Helper()
		if got, err := c.Inspect(ctx); err != nil || got != want {
			tb.Errorf("Inspect: %+v, %v; want %+v", got, err, want)
		}
	}
	raise := func(tick int64) {
		tb.Helper()
		if _, err := c.Quarantine(ctx, time.UnixMicro(s.Scale.Micro(tick))); err != nil {
			tb.Fatal(err)
		}
	}
	above := func(tick int64) time.Time { return time.UnixMicro(s.Scale.Micro(tick + 1)).UTC() }
	wants(coord.Namespace{})
	wants(coord.Namespace{})
	if err := c.Init(ctx, s); err != nil {
		tb.Fatal(err)
	}
	wants(coord.Namespace{Layout: s.Fingerprint})
	floor := s.LastTick / 2
	raise(floor)
	wants(coord.Namespace{Layout: s.Fingerprint, Floor: above(floor)})
	raise(s.LastTick)
	wants(coord.Namespace{Layout: s.Fingerprint, Floor: above(s.LastTick), Closed: true})
}
