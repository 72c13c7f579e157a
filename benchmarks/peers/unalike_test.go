package peers

import (
	"testing"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/core/coretest"
)

// unalike with the clock that is the default, and with the one whose reading can be a
// millisecond old.
var (
	unalikeSystem = peer{name: "unalike", layouts: true, make: func(tb testing.TB, l core.Layout) generator {
		return ours(tb, core.Config{Layout: l, Clock: clock.System()})
	}}
	unalikeCoarse = peer{name: "unalike-coarse", layouts: true, make: func(tb testing.TB, l core.Layout) generator {
		return ours(tb, core.Config{Layout: l, Clock: clock.Coarse()})
	}}
)

// ours is a generator of ours. Its coordinator is in memory: once a worker ID is
// leased, a coordinator has no part in making IDs.
func ours(tb testing.TB, cfg core.Config) generator {
	g := coretest.NewWith(tb, cfg)
	next := must[core.ID](tb)
	return generator{
		spend: func(n int) {
			for range n {
				if _, err := g.Next(); err != nil {
					tb.Error(err)
				}
			}
		},
		text: func() string { return next(g.Next()).String() },
	}
}

// oursAhead lets IDs run ahead of the clock, so that a saturated generator sleeps.
func oursAhead(tb testing.TB, l core.Layout) generator {
	return ours(tb, core.Config{Layout: l, Clock: clock.System(), Lead: 5 * time.Millisecond})
}
