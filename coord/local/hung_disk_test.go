package local

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/coord"
)

// hungDisk runs f with a grant whose disk hangs, and that is no longer covered by what is stored.
func hungDisk(t *testing.T, away bool, f func(p *process, g coord.Grant, answer func())) {
	inBubble(t, func(t *testing.T, r *rig) {
		d := &disk{}
		r.sys = d.seam
		p := r.start()
		g := p.acquire(4)
		p.known()
		g = p.renew(g)
		r.away.Store(away)
		hang := make(chan struct{})
		d.set(hang, nil)
		answered := false
		answer := func() {
			if !answered {
				answered = true
				d.set(nil, nil)
				close(hang)
			}
		}
		defer answer()
		time.Sleep(10 * time.Second) // nobody asks for more meanwhile, of the disk or of the back end
		f(p, g, answer)
		answer()
		synctest.Wait()
	})
}

// TestCallerThatIsCalledOff: a renewal that is ended by its caller says nothing about the disk, however much of the window
// is over: the worker ID stays.
func TestCallerThatIsCalledOff(t *testing.T) {
	hungDisk(t, false, func(p *process, g coord.Grant, answer func()) {
		for name, begin := range map[string]func() (context.Context, context.CancelFunc){
			"called off": func() (context.Context, context.CancelFunc) {
				ctx, cancel := context.WithCancel(p.Context())
				time.AfterFunc(10*time.Millisecond, cancel)
				return ctx, cancel
			},
			"out of time": func() (context.Context, context.CancelFunc) {
				return context.WithTimeout(p.Context(), 10*time.Millisecond)
			},
		} {
			ctx, cancel := begin()
			if _, err := p.Renew(ctx, g, tickNow()+horizon); err == nil || errors.Is(err, coord.ErrLeaseLost) || !strings.Contains(err.Error(), p.path) {
				p.Errorf("%s while the disk was busy: %v; want an error that names the file, and the worker ID kept", name, err)
			}
			cancel()
		}
		answer()
		if h := p.renew(g); h.WorkerID != g.WorkerID || h.NotAfter < tickNow() {
			p.Errorf("when the disk has answered: %v after %v", h, g)
		}
	})
}

// TestHungDiskIsToldSoon: the keeper reads that the disk hangs before it takes the coordinator for one that does not
// answer, which it does after a third of the window.
func TestHungDiskIsToldSoon(t *testing.T) {
	for _, away := range []bool{false, true} {
		hungDisk(t, away, func(p *process, g coord.Grant, _ func()) {
			began := time.Now()
			_, err := p.Renew(p.ctx(), g, tickNow()+horizon)
			if took := time.Since(began); took >= DefaultWindow/3 {
				p.Errorf("it took %v to say that the disk hangs", took)
			}
			if !errors.Is(err, errDiskHangs) || !strings.Contains(err.Error(), p.path) {
				p.Errorf("%v; want that the disk of %q does not answer", err, p.path)
			}
			if lost := errors.Is(err, coord.ErrLeaseLost); lost == away {
				p.Errorf("away %v: %v; another worker ID is to be leased only if somebody answers", away, err)
			}
		})
	}
}

// TestShortWindowOnASlowDisk: windows that end before a disk has answered are no reason to give the worker ID up.
func TestShortWindowOnASlowDisk(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.sys = slowDisk(100 * time.Millisecond)
		p := r.start()
		const short = 40 * time.Millisecond
		g, err := p.Acquire(r.ctx(), r.ahead(short))
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			if g, err = p.Renew(r.ctx(), g, tickNow()+short.Milliseconds()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(short)
		}
	})
}

// TestBackEndIsBackWhileTheDiskHangs: who went on while the back end was away needs the disk to tell it so. If that hangs, and
// the back end answers, another worker ID serves.
func TestBackEndIsBackWhileTheDiskHangs(t *testing.T) {
	for _, spent := range []bool{false, true} { // the window that the file has
		inBubble(t, func(t *testing.T, r *rig) {
			var takes atomic.Int64
			r.sys = bubbleDisk(&takes)
			g := r.left()
			r.away.Store(true)
			p := r.start()
			h := p.acquire(4)
			if h.WorkerID != g.WorkerID {
				t.Fatalf("%v was left, granted is %v", g, h)
			}
			takes.Store(int64(time.Hour))
			if time.Sleep(5 * time.Second); spent {
				time.Sleep(time.Minute)
			}
			for range 5 {
				if _, err := p.Renew(r.ctx(), h, tickNow()+horizon); errors.Is(err, coord.ErrLeaseLost) {
					t.Fatalf("while the back end is away: %v", err)
				}
				time.Sleep(time.Second)
			}
			r.away.Store(false)
			var err error
			for range 10 {
				if _, err = p.Renew(r.ctx(), h, tickNow()+horizon); errors.Is(err, coord.ErrLeaseLost) {
					break
				}
				time.Sleep(time.Second)
			}
			if !errors.Is(err, coord.ErrLeaseLost) || !strings.Contains(err.Error(), p.path) {
				t.Fatalf("spent %t: when the back end answers: %v; want an error that names the file, and that another worker ID is to be leased", spent, err)
			}
			if other := p.acquire(4); other.WorkerID == h.WorkerID || other.NotAfter <= tickNow() {
				t.Errorf("granted is %v, while the file has %v", other, h)
			}
			time.Sleep(2 * time.Hour) // until the disk answers
		})
	}
}
