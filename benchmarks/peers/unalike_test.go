package peers

import (
	"runtime"
	"testing"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/core/coretest"
)

// Ours in four ways.
var (
	// unalikeSystem has the clock that is the default.
	unalikeSystem = unalike("unalike", clock.System())
	// unalikeCoarse has the clock whose reading can be a millisecond old.
	unalikeCoarse = unalike("unalike-coarse", clock.Coarse())
	// unalikeKernel has a clock that asks the kernel each time.
	unalikeKernel = unalike("unalike-kernel", kernel{})
	// unalikeStripes has a worker ID for each processor, if the layout has as many.
	unalikeStripes = peer{
		name: "unalike-stripes", layouts: true,
		make: func(tb testing.TB, l core.Layout) generator {
			stripes := min(runtime.GOMAXPROCS(0), 1<<l.WorkerBits-coretest.WorkerID)
			return ours(tb, core.Config{Layout: l, Clock: clock.System(), Stripes: stripes})
		},
	}
)

// unalike is ours with a clock.
func unalike(name string, c clock.Clock) peer {
	return peer{name: name, layouts: true, make: func(tb testing.TB, l core.Layout) generator {
		return ours(tb, core.Config{Layout: l, Clock: c})
	}}
}

// kernel reads the kernel's clock each time, as clock.System does on machines where the kernel
// does not trust the processor's counter. On those a reading itself can cost more than here.
type kernel struct{}

func (kernel) UnixMicro() int64      { return kernelMicro() }
func (kernel) FreshUnixMicro() int64 { return kernelMicro() }

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
