package keeper_test

import (
	"errors"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/internal/keeper"
	"github.com/unalike-id/unalike/internal/safetytest"
)

// What a driver returns by mistake must not become a duplicate.
func TestRenewalThatBreaksTheRulesIsRefused(t *testing.T) {
	end := scale.Tick(time.Date(2100, time.January, 1, 0, 0, 0, 0, time.UTC).UnixMicro())
	each(t, map[string]func(old coord.Grant, g *coord.Grant){
		"another token":      func(_ coord.Grant, g *coord.Grant) { g.Token = "other" },
		"another worker ID":  func(_ coord.Grant, g *coord.Grant) { g.WorkerID++ },
		"another generation": func(_ coord.Grant, g *coord.Grant) { g.Generation++ },
		"window shrinks": func(old coord.Grant,
			g *coord.Grant,
		) {
			g.NotAfter = old.NotAfter - 1
		},
		"ends before it begins": func(_ coord.Grant, g *coord.Grant) {
			g.NotBefore = g.NotAfter +
				1
		},
		"ends past the layout": func(_ coord.Grant, g *coord.Grant) { g.NotAfter = end + 1 },
		"piece inside the window": func(old coord.Grant,
			g *coord.Grant,
		) {
			g.NotBefore = old.NotAfter - 1
		},
		"window begins further back": func(_ coord.Grant, g *coord.Grant) { g.NotBefore-- },
		"nothing":                    func(_ coord.Grant, g *coord.Grant) { *g = coord.Grant{} },
	}, func(t *testing.T, mistake func(old coord.Grant, g *coord.Grant)) {
		r := newRig(t, 2, func(c *keeper.Config) { c.Request.LastTick = end })
		r.used(0, 0) // so that NotBefore is not 0
		r.fake.Expire(0)
		r.fake.Steal(1)
		r.start()
		before := r.gate.at()
		r.line.set(func(l *line) {
			l.renewed = func(old, g coord.Grant, err error) (coord.Grant, error) {
				mistake(old, &g)
				return g, err
			}
		})
		pass(20 * time.Second)
		r.because(coord.ErrInvalid)
		if got := r.gate.at(); got.shut || got.notAfter != before.notAfter || r.gate.published() != 1 {
			safetytest.Of(t).Errorf("the term is %+v after %d; it was %+v", got, r.gate.published(), before)
		}
		r.line.set(func(l *line) { l.renewed = nil })
		within(t, 1100*time.Millisecond, "a correct renewal is taken", func() bool {
			return r.gate.at().notAfter > before.notAfter && r.gate.reason() == nil
		})
	})
}

func TestGrantThatBreaksTheRulesIsRefused(t *testing.T) {
	each(t, map[string]func(g *coord.Grant){
		"another token":         func(g *coord.Grant) { g.Token = "other" },
		"no generation":         func(g *coord.Grant) { g.Generation = 0 },
		"worker ID below":       func(g *coord.Grant) { g.WorkerID = 3 },
		"worker ID above":       func(g *coord.Grant) { g.WorkerID = 6 },
		"before the epoch":      func(g *coord.Grant) { g.NotBefore = -1 },
		"ends before it begins": func(g *coord.Grant) { g.NotBefore = g.NotAfter + 1 },
		"ends past the layout":  func(g *coord.Grant) { g.NotAfter = 1<<41 + 1 },
	}, func(t *testing.T, mistake func(g *coord.Grant)) {
		share := func(c *keeper.Config) { c.Request.Workers = coord.Range{First: 4, Count: 2} }
		r := newRig(t, 0, share)
		r.line.acquired = func(g coord.Grant, err error) (coord.Grant, error) {
			mistake(&g)
			return g, err
		}
		if err := r.Start(t.Context()); !errors.Is(err, coord.ErrInvalid) || r.gate.published() != 0 {
			safetytest.Unless(t, err).Errorf("Start: %v, after which %d terms are published", err,
				r.gate.published())
		}
		r.made(coordtest.Acquire, 0, 1, 1)
		for range 2 { // the worker IDs at the ends of the share are taken
			join(t, r.fake, r.led, share).start()
		}
	})
}
