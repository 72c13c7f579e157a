package core_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/core"
)

// An ID that the term before has stamped is one that the clock can step back behind,
// whether or not the term in use has stamped any.
func TestStepBackBehindTheTermBeforeIsHealed(t *testing.T) {
	const tolerance = 10 * time.Second
	synctest.Test(t, func(t *testing.T) {
		g := lease(t, newFake(4), func(cfg *core.Config) { cfg.RollbackTolerance = tolerance })
		letSettled(time.Minute)
		g.next()
		g.clock.Step(1*time.Second - tolerance) // tolerated
		letSettled(10 * time.Millisecond)
		g.fake.Steal(g.Health().Workers[0].WorkerID)
		letSettled(10 * time.Millisecond)
		lost := g.Health().Workers[0].WorkerID
		g.clock.Step(1*time.Second - tolerance) // together it is not
		letSettled(10 * time.Millisecond)
		if h := g.Health(); !h.Healthy || h.Workers[0].WorkerID == lost {
			t.Fatalf("after a step back of %v: %+v", 2*tolerance-2*time.Second, h)
		}
		g.next()
	})
}
