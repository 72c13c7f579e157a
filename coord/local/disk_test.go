package local

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/safetytest"
	"github.com/unalike-id/unalike/internal/statefile"
)

// generator returns a generator of a process, whose clock is off by step.
func (r *rig) generator(p *process, step *atomic.Int64, lease coord.LeaseConfig) *core.Generator {
	r.Helper()
	g, err := core.New(r.Context(), p.coordinator, core.Config{
		Clock: off{step}, Lease: lease, StartTimeout: 2 * time.Minute,
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { _ = g.Close(context.Background()) })
	return g
}

// off is the time, and so many nanoseconds besides.
type off struct{ by *atomic.Int64 }

func (o off) UnixMicro() int64 { return time.Now().Add(time.Duration(o.by.Load())).UnixMicro() }

// troubles are what can befall a disk.
var troubles = map[string]error{
	"state":                                errHangs,
	"input/output error":                   errDisk,
	"cannot be written: the disk is full:": &os.PathError{Op: "write", Err: syscall.ENOSPC},
}

// TestDiskAway: a disk that does not answer is like a coordinator that does not: IDs go on inside
// the window that is stored, then the error names the file, no other worker ID is leased, and
// service is back when it answers; also if the worker ID is retired meanwhile, or the clock steps
// back.
func TestDiskAway(t *testing.T) {
	retired := func(r *rig, _ *atomic.Int64, worker int) {
		time.Sleep(2 * time.Second)
		if err := memoryCoordinator(r, r.server).Retire(r.ctx(), worker); err != nil {
			r.Error(err)
		}
	}
	for _, test := range []struct {
		what   string
		happen func(r *rig, step *atomic.Int64, worker int)
		within time.Duration // service is back
		ahead  time.Duration // the clock is
	}{
		{"nothing else", func(*rig, *atomic.Int64, int) {}, 2 * time.Second, 0},
		{"retired", retired, 20 * time.Second, 0},
		{
			"the clock steps back", func(_ *rig, step *atomic.Int64, _ int) { step.Store(0) },
			20 * time.Second, 100 * time.Second,
		},
	} {
		for _, trouble := range troubles {
			inBubble(t, func(t *testing.T, r *rig) {
				var step atomic.Int64
				g := r.generator(r.start(), &step, coord.LeaseConfig{Horizon: 2 * time.Minute})
				step.Store(int64(test.ahead))
				time.Sleep(30 * time.Second)
				r.disk.is(trouble)
				if _, err := g.TryNext(); err != nil {
					t.Errorf("%v, %s: %v", trouble, test.what, err)
				}
				test.happen(r, &step, g.Health().Workers[0].WorkerID)
				time.Sleep(4 * time.Second)
				for range 60 {
					time.Sleep(time.Second)
					_, err := g.TryNext()
					_, ended := errors.AsType[*core.WindowEndedError](err)
					if test.within > 2*time.Second {
						continue
					}
					if !ended || !strings.Contains(err.Error(), r.file()) ||
						strings.Contains(err.Error(), "asking again") || len(r.server.Slots()) != 1 {
						t.Fatalf("%v, %s: %v, %+v; want that the window has ended, and the file",
							trouble, test.what, err, r.server.Slots())
					}
				}
				r.disk.is(nil)
				time.Sleep(test.within)
				if _, err := g.TryNext(); err != nil {
					t.Errorf("%v, %s: %v after it answers: %v", trouble, test.what, test.within, err)
				}
			})
		}
	}
}

// TestOldHiccup: a disk that has failed once, for a process that had nothing more to write, is used
// again by its next holder.
func TestOldHiccup(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		p := r.start()
		g := p.renew(p.acquire(4))
		r.disk.is(errDisk)
		if err := p.Release(r.ctx(), g, g.NotBefore); !errors.Is(err, errDisk) {
			t.Fatalf("released: %v", err)
		}
		r.disk.is(nil)
		time.Sleep(time.Minute)
		if h := p.acquire(4); len(r.stored()) != 1 || r.stored()[0].Worker != h.WorkerID {
			safetytest.Of(t).Errorf("a minute after one write that failed, granted is %v, and the file "+
				"has %+v", h, r.stored())
		}
	})
}

// TestDiskErrorAtStart: a grant whose first record could not be written serves when it can, for
// whoever asks next, and nothing is leased while nothing can be written.
func TestDiskErrorAtStart(t *testing.T) {
	for says, trouble := range troubles {
		inBubble(t, func(t *testing.T, r *rig) {
			p := r.start()
			r.trouble = func(op string, _ func(*protocol.Coordinator)) error {
				if op == "acquire" {
					r.disk.is(trouble)
				}
				return nil
			}
			req := r.request(4)
			for range 2 {
				ctx, cancel := context.WithTimeout(r.ctx(), time.Second)
				defer cancel()
				g, err := p.Acquire(ctx, req)
				if err == nil || coord.Permanent(err) || !strings.Contains(err.Error(), r.file()) ||
					!strings.Contains(err.Error(), says) {
					t.Errorf("%v: %v, %v; want an error that names the file", trouble, g, err)
				}
			}
			r.disk.is(nil)
			r.trouble = nil
			g, h := p.acquire(4), p.acquire(4)
			if g.WorkerID == h.WorkerID || len(r.server.Slots()) != 2 || len(r.stored()) != 2 {
				safetytest.Of(t).Errorf("%v; then granted are %v and %v, and the back end has %+v",
					trouble, g, h, r.server.Slots())
			}
		})
	}
}

// TestFloorWhileTheDiskFails: a start that fails after it was told of a floor leaves nothing below
// the floor to the next one.
func TestFloorWhileTheDiskFails(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		g := r.left()
		time.Sleep(28 * time.Second)
		floor, err := memoryCoordinator(t, r.server).Quarantine(r.ctx(), time.Now().Add(20*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		p := r.start()
		r.trouble = func(op string, _ func(*protocol.Coordinator)) error {
			if op == "resume" {
				r.disk.is(errDisk)
			}
			return nil
		}
		if _, err := p.ask(); !errors.Is(err, errDisk) {
			t.Fatalf("the disk fails: %v", err)
		}
		r.trouble = nil
		r.disk.is(nil)
		if h := p.acquire(4); h.WorkerID == g.WorkerID && h.NotBefore < scale.Tick(floor.UnixMicro())-1 {
			safetytest.Of(t).Errorf("%v was left, the floor is %v, and granted is %v", g, floor, h)
		}
	})
}

// TestSlowDisk: a disk that takes a second for each record serves without a gap, and a release on
// it comes to its end.
func TestSlowDisk(t *testing.T) {
	for _, takes := range []time.Duration{
		300 * time.Millisecond, time.Second,
		1200 * time.Millisecond,
	} {
		inBubble(t, func(t *testing.T, r *rig) {
			r.disk.takes.Store(int64(takes))
			g := r.generator(r.start(), new(atomic.Int64), coord.LeaseConfig{})
			for time.Sleep(10 * time.Second); time.Now().Minute() < 3; time.Sleep(50 * time.Millisecond) {
				if _, err := g.TryNext(); err != nil {
					t.Fatalf("each record takes %v: %v", takes, err)
				}
			}
			if err := g.Close(t.Context()); err != nil || r.server.Slots()[0].Token != "" {
				t.Errorf("each record takes %v: Close: %v, %+v", takes, err, r.server.Slots())
			}
		})
	}
}

// TestCloseWhileTheDiskHangs: Close does not wait for it, says so, and keeps the file locked until
// it answers.
func TestCloseWhileTheDiskHangs(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		p := r.start()
		g := p.acquire(4)
		r.disk.is(errHangs)
		time.Sleep(2 * time.Second)
		_, err := p.Renew(r.ctx(), g, tickNow()+horizon)
		if _, ok := errors.AsType[*fs.PathError](err); !ok ||
			!strings.Contains(err.Error(), "its disk has not answered") {
			t.Errorf("renewed: %v", err)
		}
		began := time.Now()
		if err := p.Close(); err == nil ||
			!strings.Contains(err.Error(), "no other process can use it, until the disk answers") ||
			time.Since(began) > time.Second {
			t.Errorf("Close after %v: %v", time.Since(began), err)
		}
		q := r.start()
		if _, err := q.ask(); !errors.Is(err, statefile.ErrInUse) {
			t.Errorf("a second process: %v", err)
		}
		r.disk.is(nil)
		time.Sleep(time.Second)
		r.follows(q.acquire(4), g)
	})
}

// TestDeletedWhileInUse: a holder goes on when its file is deleted, and so does the next process.
func TestDeletedWhileInUse(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		p := r.start()
		g := p.renew(p.acquire(4))
		if err := os.Remove(r.file()); err != nil {
			t.Fatal(err)
		}
		for range 10 {
			time.Sleep(time.Second)
			g = p.renew(g)
		}
		if g.NotAfter < tickNow() {
			t.Errorf("held is %v", g)
		}
		p.kill()
		r.away.Store(true)
		r.follows(r.start().acquire(4), g)
	})
}

// TestStripes: stripes share records, and do not ask the back end for each. A disk that fails is
// not asked for each either.
func TestStripes(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		p := r.start()
		grants := make([]coord.Grant, 8)
		for i := range grants {
			grants[i] = p.acquire(16)
		}
		renewing := func(limit time.Duration) int64 {
			before := r.disk.writes.Load()
			for began := time.Now(); time.Since(began) < limit; time.Sleep(10 * time.Millisecond) {
				for i := range grants {
					if g, err := p.extend(grants[i]); err == nil {
						grants[i] = g
					}
				}
			}
			return r.disk.writes.Load() - before
		}
		asked := &r.sent[ops["renew"]]
		if n := renewing(3 * time.Second); n > 6 || n < 2 || asked.Load() > 0 {
			t.Errorf("8 stripes have written the file %d times in 3 s, and asked the back end %d times",
				n, asked.Load())
		}
		r.disk.is(errDisk)
		if n := renewing(10 * time.Second); n > 60 {
			t.Errorf("a disk that fails was asked %d times in 10 s", n)
		}
	})
}

// TestNothingGrows: holders that have come and gone leave nothing behind.
func TestNothingGrows(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		p := r.start()
		for range 10 {
			if g := p.renew(p.acquire(4)); p.Release(t.Context(), g, g.NotBefore) != nil {
				t.Fatal(g)
			}
		}
		outages := 0
		p.outages.Range(func(any, any) bool { outages++; return true })
		if len(p.held)+len(p.entries)+len(p.acquiring)+outages > 0 {
			safetytest.Of(t).Errorf("%d held, %d in the file, %d acquiring, %d outages",
				len(p.held), len(p.entries), len(p.acquiring), outages)
		}
	})
}
