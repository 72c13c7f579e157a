package core_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/safetytest"
)

func TestStartReturnsAtOnceAndServesWhenTheCoordinatorIsThere(t *testing.T) {
	for _, stripes := range []int{1, 3} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake(3)
			f.Outage(true)
			began := time.Now()
			g := begin(t, f, func(c *core.Config) { c.Stripes = stripes })
			if took := time.Since(began); took != 0 {
				t.Errorf("Start took %v", took)
			}
			wantText(t, g.Check(), "core: generator not started yet: no worker ID is leased yet, "+
				"the coordinator has not answered so far; service begins by itself")
			f.Outage(false)
			f.Refuse(true)
			letSettled(time.Minute)
			_, err := g.Next()
			wantText(t, err, "core: generator not started yet: no worker ID: coordtest: Acquire of the "+
				"fake: coordtest: back end unreachable; service begins by itself once a worker ID is leased",
				core.ErrNotStarted, coordtest.ErrUnreachable)
			h := g.Health()
			if h.Healthy || h.Closed || h.Workers[0].WorkerID != -1 || h.Issued != 0 ||
				h.Errors != (core.ErrorCounts{NotStarted: 1}) {
				t.Errorf("Health: %+v", h)
			}
			time.AfterFunc(10*time.Second, func() { f.Refuse(false) })
			began = time.Now()
			if _, err := g.NextContext(t.Context()); err != nil || time.Since(began) > 12*time.Second {
				t.Errorf("NextContext took %v: %v", time.Since(began), err)
			}
			if err := g.Check(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestStartThatIsClosedLeavesNothingBehind(t *testing.T) {
	for name, prepare := range map[string]func(*testing.T, *coordtest.Fake){
		"refused": func(_ *testing.T, f *coordtest.Fake) { f.Refuse(true) },
		"not open": func(t *testing.T, f *coordtest.Fake) {
			ahead(t, f, leaseConfig(nil).Layout,
				time.Hour)
		},
		"serving": func(*testing.T, *coordtest.Fake) {},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(1)
				prepare(t, f)
				g := begin(t, f)
				letSettled(3 * time.Second)
				began := time.Now()
				if err := g.Close(t.Context()); err != nil || time.Since(began) > time.Second {
					t.Errorf("Close took %v: %v", time.Since(began), err)
				}
				if h, err := f.Holders(), g.Check(); len(h) != 0 || !errors.Is(err, core.ErrClosed) {
					safetytest.Of(t).Errorf("held are %v; Check: %v", h, err)
				}
			})
		})
	}
}

// A call that its context has ended is counted as what it waited for.
func TestCallsEndedByTheirContextAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(1)
		f.Refuse(true)
		g := begin(t, f)
		short := func(call func(context.Context) error, want error) {
			t.Helper()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if err := call(ctx); !errors.Is(err, want) || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v, want %v", err, want)
			}
		}
		next := func(ctx context.Context) error { _, err := g.NextContext(ctx); return err }
		fill := func(ctx context.Context) error { _, err := g.Fill(ctx, make([]core.ID, 3)); return err }
		letSettled(time.Second)
		short(next, core.ErrNotStarted)
		f.Refuse(false)
		letSettled(5 * time.Second)
		f.Refuse(true)
		letSettled(time.Minute)
		short(fill, core.ErrWindowEnded)
		short(next, core.ErrWindowEnded)
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		_ = next(ended)
		if want := (core.ErrorCounts{
			NotStarted: 1, WindowEnded: 2,
			ContextEnded: 1,
		}); g.Health().Errors != want {
			t.Errorf("counted is %+v, want %+v", g.Health().Errors, want)
		}
	})
}
