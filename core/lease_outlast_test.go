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

// TestHealthShowsTheLongerWindow: where short windows are granted out of a longer one, health is about that one, and
// shows the end of the short one beside it.
func TestHealthShowsTheLongerWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(1)
		o := &outlasting{FakeClient: f.Client()}
		plain := lease(t, f)
		cfg := leaseConfig(plain.clock)
		if err := plain.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		g, err := core.New(t.Context(), o, cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close(t.Context())
		taken := time.Now()
		settle(5 * time.Second)
		now := plain.tick()
		away := errors.New("it is away")
		o.set(coord.Outage{NotAfter: now + 3_599_999, Failing: away}, false)
		w := g.Health().Workers[0]
		if w.WindowLeft != time.Hour || g.Health().WindowLeft != time.Hour || !w.StateFile || w.MarkLeft <= 0 || w.MarkLeft > leaseHorizon+time.Millisecond {
			t.Errorf("%+v", w)
		}
		if !w.LastRenewal.Equal(taken) || !errors.Is(w.Failing, away) {
			t.Errorf("not renewed since it was taken over at %v: %+v", taken, w)
		}
		if o.of.WorkerID != w.WorkerID || o.of.Generation != w.Generation || o.of.Token == "" {
			t.Errorf("it was asked about %v", o.of)
		}
		renewed := time.Now().Add(-time.Second)
		o.set(coord.Outage{NotAfter: now, Renewed: renewed}, false)
		w = g.Health().Workers[0]
		if !w.LastRenewal.Equal(renewed) || w.Failing != nil || w.WindowLeft != w.MarkLeft {
			t.Errorf("the longer window is never shown as the shorter one: %+v", w)
		}
		text, err := json.Marshal(w)
		if err != nil || !strings.Contains(string(text), `"mark_left_seconds":`) {
			t.Errorf("%s, %v", text, err)
		}
		o.set(coord.Outage{NotAfter: now + 3_599_999}, true)
		w = g.Health().Workers[0]
		if w.StateFile || w.MarkLeft != 0 || w.WindowLeft > leaseHorizon+time.Millisecond {
			t.Errorf("with nothing behind it: %+v", w)
		}
		if text, _ := json.Marshal(w); strings.Contains(string(text), "mark_left") {
			t.Errorf("%s", text)
		}
		f.Refuse(true)
		o.set(coord.Outage{NotAfter: now, Renewed: renewed, Failing: away}, false)
		settle(leaseHorizon + time.Second)
		var ended *core.WindowEndedError
		if _, err := g.Next(); !errors.As(err, &ended) || !ended.Renewed.Equal(renewed) {
			t.Errorf("the last renewal was at %v: %v", renewed, err)
		}
		f.Refuse(false)
	})
}
