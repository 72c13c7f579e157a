package benchmarks

import (
	"fmt"
	"testing"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/core/coretest"
	"github.com/unalike-id/unalike/internal/benchtest"
)

var (
	// wide is a layout whose ceiling nothing reaches.
	wide = core.Layout{
		Epoch: core.DefaultLayout().Epoch, Unit: time.Millisecond, TimeBits: 41,
		WorkerBits: 4, SequenceBits: 18,
	}
	// widest has even more IDs in a tick, for calls that take many.
	widest = core.Layout{
		Epoch: wide.Epoch, Unit: time.Millisecond, TimeBits: 41, WorkerBits: 1,
		SequenceBits: 21,
	}
)

// ceiling is how many IDs a second a layout has for each worker ID.
func ceiling(l core.Layout) float64 { return float64(l.SequencesPerTick()) / l.Unit.Seconds() }

// mode is one way to use a generator.
type mode struct {
	layout     string
	cfg        core.Config
	goroutines int
	call       string
	ids        int // of one call
	run        func(g *core.Generator) error
}

func (m mode) name() string {
	stripes := max(m.cfg.Stripes, 1)
	return fmt.Sprintf("layout=%s/clock=%v/lead=%v/stripes=%d/goroutines=%d", m.layout, m.cfg.Clock,
		m.cfg.Lead, stripes, m.goroutines)
}

// measure runs the mode, and reports the share of the ceiling where that is what stops
// it.
func (m mode) measure(b *testing.B) {
	g := coretest.NewWith(b, m.cfg)
	benchtest.Share(b, m.goroutines, m.ids, func(calls int) {
		for range calls {
			if err := m.run(g); err != nil {
				b.Error(err)
			}
		}
	})
	rate := float64(b.N*m.ids) / b.Elapsed().Seconds()
	if share := rate / (ceiling(m.cfg.Layout) * float64(max(m.cfg.Stripes, 1))); share > 0.9 {
		b.ReportMetric(share, "ceiling")
	}
	b.ReportMetric(max(0, g.Health().Lead.Seconds()*1e3), "lead-ms")
}

// base is the mode that the others differ from in one thing.
func base() mode {
	return mode{
		layout: "41-4-18", cfg: core.Config{Layout: wide, Clock: clock.System()}, goroutines: 1,
		call: "Next", ids: 1,
		run: func(g *core.Generator) error { _, err := g.Next(); return err },
	}
}
