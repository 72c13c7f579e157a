package local

import (
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/unalike-id/unalike/core"
)

// hangsWhile runs a generator whose disk hangs, or fails, to which something else happens at the same moment, and which must have IDs again
// while the disk still hangs.
func hangsWhile(t *testing.T, fails error, ahead time.Duration, trouble func(r *rig, step *atomic.Int64, worker int)) {
	inBubble(t, func(t *testing.T, r *rig) {
		d := &disk{}
		r.sys = d.seam
		var step atomic.Int64
		p := r.start()
		g, err := core.New(t.Context(), p.Coordinator, core.Config{Clock: steppedBy{&step}, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		step.Store(int64(ahead))
		time.Sleep(30 * time.Second)
		if _, err = g.Next(); err != nil {
			t.Fatal(err)
		}
		hang := make(chan struct{})
		if d.set(hang, nil); fails != nil {
			d.set(nil, fails)
		}
		trouble(r, &step, g.Health().Workers[0].WorkerID)
		time.Sleep(time.Minute)
		if _, err = g.Next(); err != nil {
			t.Errorf("a minute later: %v", err)
		}
		d.set(nil, nil)
		close(hang)
		time.Sleep(time.Minute)
		if _, err = g.Next(); err != nil {
			t.Errorf("when the disk answers again: %v", err)
		}
		if err := g.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// steppedBy is the time, and so many nanoseconds besides.
type steppedBy struct{ step *atomic.Int64 }

func (s steppedBy) UnixMicro() int64 {
	return time.Now().Add(time.Duration(s.step.Load())).UnixMicro()
}

// TestRetiredWhileTheDiskHangs: a worker ID that is lost before its mark is passed is followed by one that the file does not name.
func TestRetiredWhileTheDiskHangs(t *testing.T) {
	for _, fails := range []error{nil, errors.New("input/output error")} {
		for _, after := range []time.Duration{0, time.Second, 2 * time.Second, 4 * time.Second} {
			hangsWhile(t, fails, 0, func(r *rig, _ *atomic.Int64, worker int) {
				time.Sleep(after)
				if err := memory(r, r.server).Retire(r.ctx(), worker); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// TestClockStepsBackWhileTheDiskHangs: so is one whose mark is not passed because the clock has gone back.
func TestClockStepsBackWhileTheDiskHangs(t *testing.T) {
	for _, fails := range []error{nil, errors.New("input/output error")} {
		hangsWhile(t, fails, 100*time.Second, func(_ *rig, step *atomic.Int64, _ int) { step.Store(0) })
	}
}

// TestOldHiccup: a disk that has failed once, for a process that had nothing more to write, is used again by its next holder.
func TestOldHiccup(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		d := &disk{}
		r.sys = d.seam
		p := r.start()
		g := p.acquire(4)
		p.known()
		g = p.renew(g)
		d.set(nil, errors.New("input/output error"))
		if err := p.Release(r.ctx(), g, g.NotBefore); err == nil {
			t.Fatal("released")
		}
		d.set(nil, nil)
		time.Sleep(time.Minute)
		h := p.acquire(4)
		p.Coordinator.mu.Lock()
		defer p.Coordinator.mu.Unlock()
		if p.disk != nil || p.holds[h.Token] == nil {
			t.Errorf("a minute after one write that failed, %v is not in the file: %v", h, p.disk)
		}
	})
}
