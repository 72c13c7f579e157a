package file

import (
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/clock/clocktest"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/safetytest"
)

// TestClockSteps: the machine's clock is set forward and back by an hour, under a generator and
// before the next one. Service goes on by itself, and no ID comes twice.
func TestClockSteps(t *testing.T) {
	for name, steps := range map[string][]time.Duration{
		"forward and back": {time.Hour, -time.Hour},
		"back and forward": {-time.Hour, time.Hour},
	} {
		path := filepath.Join(t.TempDir(), "ids")
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				layout := core.DefaultLayout()
				layout.Epoch = time.Date(1990, time.January, 1, 0, 0, 0, 0, time.UTC) // a bubble begins in 2000
				shifted := clocktest.NewShifted(time.Now())
				seen := map[core.ID]bool{}
				for range 2 {
					c, err := New(path, Options{Clock: shifted})
					if err != nil {
						t.Fatal(err)
					}
					g, err := core.New(t.Context(), c, core.Config{Layout: layout, Clock: shifted})
					if err != nil {
						t.Fatal(err)
					}
					for _, step := range append([]time.Duration{0}, steps...) {
						shifted.Step(step)
						_, _ = g.Next() // which notices the step
						time.Sleep(2 * time.Second)
						for range 100 {
							id, err := g.Next()
							if err != nil || seen[id] {
								safetytest.Unless(t, err).Fatalf("after a step by %v: %v, which was issued: %v; %v", step,
									id, seen[id], err)
							}
							seen[id] = true
						}
					}
					_ = g.Close(t.Context())
					_ = c.Close()
					shifted.Step(steps[1])
				}
			})
		})
	}
}
