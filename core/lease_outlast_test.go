package core_test

import (
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/core"
)

// outlasting is a coordinator that says of its grants what lies behind them.
type outlasting struct {
	*coordtest.FakeClient
	mu   sync.Mutex
	long coord.Outage
	none bool
	of   coord.Grant
}

func (o *outlasting) Outage(g coord.Grant) (coord.Outage, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.of = g
	return o.long, !o.none
}

func (o *outlasting) set(long coord.Outage, none bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.long, o.none = long, none
}

// TestHealthShowsTheLongerWindow: where short windows are granted out of a longer one, health is
// about that one, and shows the end of the short one beside it.
func TestHealthShowsTheLongerWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(1)
		o := &outlasting{FakeClient: f.Client()}
		g := leaseOf(t, o, f)
		taken := time.Now()
		letSettled(5 * time.Second)
		away := errors.New("it is away")
		now := g.tick()
		shows := func(long coord.Outage, none bool) core.WorkerHealth {
			o.set(long, none)
			return g.Health().Workers[0]
		}

		w := shows(coord.Outage{NotAfter: now + 3_599_999, Failing: away}, false)
		if w.WindowLeft != time.Hour || g.Health().WindowLeft != time.Hour || !w.StateFile ||
			w.MarkLeft <= 0 || w.MarkLeft > leaseHorizon+time.Millisecond {
			t.Errorf("%+v", w)
		}
		if !w.LastRenewal.Equal(taken) || !errors.Is(w.Failing, away) {
			t.Errorf("not renewed since it was taken over at %v: %+v", taken, w)
		}
		if o.of.WorkerID != w.WorkerID || o.of.Generation != w.Generation || o.of.Token == "" {
			t.Errorf("it was asked about %v", o.of)
		}
		renewed := time.Now().Add(-time.Second)
		w = shows(coord.Outage{NotAfter: now, Renewed: renewed}, false)
		if !w.LastRenewal.Equal(renewed) || w.Failing != nil || w.WindowLeft != w.MarkLeft {
			t.Errorf("the longer window is never shown as the shorter one: %+v", w)
		}
		if text, err := json.Marshal(w); err != nil ||
			!strings.Contains(string(text), `"mark_left_seconds":`) {
			t.Errorf("%s, %v", text, err)
		}
		w = shows(coord.Outage{NotAfter: now + 3_599_999}, true)
		text, _ := json.Marshal(w)
		if w.StateFile || w.WindowLeft > leaseHorizon+time.Millisecond ||
			strings.Contains(string(text), "mark_left") {
			t.Errorf("with nothing behind it: %s", text)
		}
	})
}
