package protocol

import (
	"context"
	"testing"
	"time"

	"github.com/unalike-id/unalike/clock"
)

// doneSession is a session in which every change is done.
type doneSession struct{ Session }

func (doneSession) Commit(context.Context, Change) (Outcome, error) { return Outcome{Done: true}, nil }
func (doneSession) Time() int64                                     { return 0 }

// TestChangeOfAnEarlierEra: what was done on the strength of what was read before a loss is
// not used, although the loss was dealt with before the change was made.
func TestChangeOfAnEarlierEra(t *testing.T) {
	c := &Coordinator{
		set:      Settings{Clock: clock.System()},
		detector: newDetector(testHorizon, testBound), clocks: &clocks{bound: time.Second},
	}
	meta := Entry[Meta]{Record: Meta{Nonce: "a"}, Made: 1, Version: 1}
	for _, want := range []bool{false, true} {
		if _, unsound, err := c.commit(t.Context(), doneSession{}, Change{Before: &View{Meta: meta}}); err != nil || unsound != want {
			t.Errorf("unsound: %v, %v; want %v", unsound, err, want)
		}
		c.detector.forgive(c.detector.sight(), Position{}, meta, 1)
	}
}
