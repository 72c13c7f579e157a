package benchmarks

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/core"
)

// BenchmarkCalls is each way to ask for IDs.
func BenchmarkCalls(b *testing.B) {
	ctx := context.Background()
	calls := []mode{base()}
	add := func(name string, ids int, run func(g *core.Generator) error) {
		m := base()
		m.call, m.ids, m.run = name, ids, run
		calls = append(calls, m)
	}
	add("NextContext", 1, func(g *core.Generator) error { _, err := g.NextContext(ctx); return err })
	add("TryNext", 1, func(g *core.Generator) error { _, err := g.TryNext(); return err })
	for _, n := range []int{10, 100, 1000} {
		dst := make([]core.ID, n)
		add(fmt.Sprintf("Fill%d", n), n, func(g *core.Generator) error {
			_, err := g.Fill(ctx, dst)
			return err
		})
		calls[len(calls)-1].layout, calls[len(calls)-1].cfg.Layout = "41-1-21", widest
	}
	for _, m := range calls {
		b.Run("call="+m.call+"/"+m.name(), m.measure)
	}
}

// BenchmarkNext is Next with one thing changed at a time.
func BenchmarkNext(b *testing.B) {
	var modes []mode
	add := func(change func(m *mode)) {
		m := base()
		change(&m)
		modes = append(modes, m)
	}
	for _, c := range []clock.Clock{clock.System(), clock.Coarse()} {
		for _, n := range []int{1, 2, 4, 8} {
			add(func(m *mode) { m.cfg.Clock, m.goroutines = c, n })
		}
	}
	for _, stripes := range []int{2, 4} {
		for _, n := range []int{1, 2, 8} {
			add(func(m *mode) { m.cfg.Stripes, m.goroutines = stripes, n })
		}
	}
	add(func(m *mode) { m.cfg.SpreadBelow = 16 })
	for _, m := range modes {
		name := m.name()
		if m.cfg.SpreadBelow > 0 {
			name += "/start=16"
		}
		b.Run(name, m.measure)
	}
}

// BenchmarkCeiling asks for IDs as fast as they come, of layouts whose ceiling is
// reached. Its baseline is a loop that does nothing but read the same clock and count
// up to the same ceiling. A long run is what counts: with -benchtime 5s it lasts for
// 5000 ticks.
func BenchmarkCeiling(b *testing.B) {
	b.Run("baseline=spin", spin)
	for _, l := range []struct {
		name   string
		layout core.Layout
	}{{"default", core.DefaultLayout()}, {"javascript", core.JavaScriptLayout()}} {
		for _, lead := range []time.Duration{0, 5 * time.Millisecond} {
			for _, stripes := range []int{1, 2} {
				for _, n := range []int{1, 2} {
					m := base()
					m.layout, m.goroutines = l.name, n
					m.cfg = core.Config{Layout: l.layout, Clock: clock.System(), Lead: lead, Stripes: stripes}
					b.Run(m.name(), m.measure)
				}
			}
		}
	}
}
