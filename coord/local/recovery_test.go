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

// TestDiskAnswersAgain: a worker ID that was given up because of the disk is gone on with, above its mark, when the disk
// answers again and no other is to be had: because the file names them all, or because others hold them.
func TestDiskAnswersAgain(t *testing.T) {
	for name, held := range map[string]int{"named by the file": 0, "held by others": 3} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *rig) {
				d := &disk{}
				r.sys = d.seam
				other := memory(t, r.server)
				p := r.start()
				g := p.acquire(1)
				for range held {
					if _, err := other.Acquire(r.ctx(), r.request(1+held)); err != nil {
						t.Fatal(err)
					}
				}
				p.known()
				g = p.renew(g)
				hang := make(chan struct{})
				d.set(hang, nil)
				time.Sleep(10 * time.Second)
				if _, err := p.Renew(r.ctx(), g, tickNow()+horizon); !errors.Is(err, coord.ErrLeaseLost) {
					t.Fatalf("while the disk hangs: %v", err)
				}
				if h, err := p.Acquire(r.ctx(), r.request(1+held)); err == nil || !strings.Contains(err.Error(), p.path) {
					t.Fatalf("while the disk hangs, and all are named or held: %v, %v; want an error that names the file", h, err)
				}
				d.set(nil, nil)
				close(hang)
				h := p.acquire(1 + held)
				if h.WorkerID != g.WorkerID || h.NotBefore < g.NotAfter || h.NotAfter <= tickNow() {
					t.Errorf("%v was given up; when the disk answers again, granted is %v", g, h)
				}
				if h = p.renew(h); h.NotAfter <= tickNow() {
					t.Errorf("renewed: %v", h)
				}
				if _, err := p.Renew(r.ctx(), g, tickNow()+horizon); !errors.Is(err, coord.ErrLeaseLost) {
					t.Errorf("whoever had given it up renews it: %v", err)
				}
			})
		})
	}
}

// TestErrorsWhileTheDiskRecovers: a worker ID is asked for without the file, and before the answer comes the file is used
// again, for somebody else.
func TestErrorsWhileTheDiskRecovers(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		d := &disk{}
		r.sys = d.seam
		p := r.start()
		g := p.acquire(1)
		p.known()
		d.set(nil, errors.New("input/output error"))
		time.Sleep(10 * time.Second)
		if _, err := p.Renew(r.ctx(), g, tickNow()+horizon); !errors.Is(err, coord.ErrLeaseLost) {
			t.Fatalf("while the disk fails: %v", err)
		}
		d.set(nil, nil)
		synctest.Wait()
		p.link.trouble = func(op string, _ func(coord.Coordinator)) error {
			if op == "acquire" {
				time.Sleep(time.Second)
				return errAway
			}
			return nil
		}
		failed := make(chan error, 1)
		go func() {
			_, err := p.Acquire(r.ctx(), r.request(2))
			failed <- err
		}()
		time.Sleep(500 * time.Millisecond)
		p.acquire(1) // the one that the file names
		if err := <-failed; !errors.Is(err, errAway) || strings.Contains(err.Error(), "nil") || !strings.Contains(err.Error(), p.path) {
			t.Errorf("%v; want an error that names the file, and what the back end says", err)
		}
	})
}

// TestErrorWhereAnotherIsFaster: two generators of a process find one grant in the file, and the back end is away. The one
// that gets none is told that it is.
func TestErrorWhereAnotherIsFaster(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		p := r.start()
		p.acquire(1)
		p.known()
		p.Coordinator.mu.Lock()
		p.entries[0].taken = false // as after a start
		clear(p.holds)
		p.Coordinator.mu.Unlock()
		synctest.Wait()
		p.link.trouble = func(string, func(coord.Coordinator)) error {
			time.Sleep(500 * time.Millisecond)
			return errAway
		}
		results := make(chan error, 2)
		for range 2 {
			go func() {
				_, err := p.Acquire(r.ctx(), r.request(1))
				results <- err
			}()
		}
		if err := errors.Join(<-results, <-results); !errors.Is(err, errNone) || !errors.Is(err, errAway) {
			t.Errorf("%v; want that the back end is away", err)
		}
	})
}

// TestGrantedWhileTheDiskIsGivenUp: a worker ID that is granted after the file was given up because of another one serves
// without the file. It is not given back: who asks again with its token is granted it again, and the release may arrive later.
func TestGrantedWhileTheDiskIsGivenUp(t *testing.T) {
	hungDisk(t, false, func(p *process, g coord.Grant, _ func()) {
		answer := make(chan struct{})
		var late []func()
		p.link.trouble = func(op string, apply func(coord.Coordinator)) error {
			switch op {
			case "acquire":
				<-answer
			case "release":
				late = append(late, func() { apply(memory(p, p.server)) })
				return errAway
			}
			return nil
		}
		req := p.request(4)
		answered := make(chan error, 1)
		p.hasAnswered()
		go func() {
			_, err := p.Acquire(p.ctx(), req)
			answered <- err
		}()
		synctest.Wait()
		if _, err := p.Renew(p.ctx(), g, tickNow()+horizon); !errors.Is(err, coord.ErrLeaseLost) {
			p.Fatalf("while the disk hangs: %v", err)
		}
		close(answer)
		if err := <-answered; err != nil {
			p.Error(err)
		}
		again := p.request(4)
		again.Token = req.Token
		h, err := p.Acquire(p.ctx(), again)
		if err != nil || h.WorkerID == g.WorkerID || h.NotAfter <= tickNow() {
			p.Fatalf("%v was given up; granted was %v, %v", g, h, err)
		}
		for _, apply := range late {
			apply()
		}
		other := memory(p, p.server)
		for range 4 {
			o, err := other.Acquire(p.ctx(), p.request(4))
			if err == nil && o.WorkerID == h.WorkerID && o.NotBefore < h.NotAfter {
				p.Errorf("%v is held here, and %v elsewhere", h, o)
			}
		}
	})
}

// TestNamedWhileTheDiskIsGivenUp: what is granted after the file was given up, and is the worker ID that the file names, serves
// when the disk answers again, and not before.
func TestNamedWhileTheDiskIsGivenUp(t *testing.T) {
	hungDisk(t, false, func(p *process, g coord.Grant, disk func()) {
		answer := make(chan struct{})
		p.link.trouble = func(op string, _ func(coord.Coordinator)) error {
			if op == "acquire" {
				<-answer
			}
			return nil
		}
		req := p.request(4)
		again := func() coord.Request {
			next := p.request(4)
			next.Token, next.Workers = req.Token, req.Workers
			return next
		}
		req.Workers = coord.Range{First: g.WorkerID, Count: 1}
		answered := make(chan error, 1)
		p.hasAnswered()
		go func() {
			_, err := p.Acquire(p.ctx(), req)
			answered <- err
		}()
		synctest.Wait()
		if _, err := p.Renew(p.ctx(), g, tickNow()+horizon); !errors.Is(err, coord.ErrLeaseLost) {
			p.Fatalf("while the disk hangs: %v", err)
		}
		p.server.Expire(g.WorkerID)
		close(answer)
		if err := <-answered; err == nil || coord.Permanent(err) || !strings.Contains(err.Error(), "the state file names it") {
			p.Errorf("granted is a worker ID that the file names: %v", err)
		}
		req.Workers = coord.Range{Count: 4}
		if h, err := p.Acquire(p.ctx(), again()); err == nil || coord.Permanent(err) {
			p.Errorf("while the disk hangs: %v, %v", h, err)
		}
		disk()
		h, err := p.Acquire(p.ctx(), again())
		if err != nil || h.WorkerID != g.WorkerID || h.NotBefore < g.NotAfter {
			p.Errorf("%v was given up; when the disk answers, granted is %v, %v", g, h, err)
		}
	})
}

// TestDiskAnswersAgainInSilence: a back end that does not say no, but says nothing, leaves an acquisition no time to wait for
// the disk. What was given up because of the disk is gone on with all the same, when that answers again.
func TestDiskAnswersAgainInSilence(t *testing.T) {
	hungDisk(t, false, func(p *process, g coord.Grant, answer func()) {
		if _, err := p.Renew(p.ctx(), g, tickNow()+horizon); !errors.Is(err, coord.ErrLeaseLost) {
			p.Fatalf("while the disk hangs: %v", err)
		}
		inner := p.Coordinator.inner
		p.Coordinator.inner = silence{inner}
		req := p.request(4)
		acquire := func() (coord.Grant, error) {
			ctx, cancel := context.WithTimeout(p.Context(), 5*time.Second)
			defer cancel()
			now := p.request(4)
			now.Token = req.Token
			return p.Acquire(ctx, now)
		}
		if h, err := acquire(); err == nil || !strings.Contains(err.Error(), p.path) {
			p.Errorf("while the disk hangs: %v, %v; want an error that names the file", h, err)
		}
		answer()
		var h coord.Grant
		err := errors.New("not asked")
		for n := 0; n < 3 && err != nil; n++ {
			h, err = acquire()
		}
		if err != nil || h.WorkerID != g.WorkerID || h.NotBefore < g.NotAfter || h.NotAfter <= tickNow() {
			p.Errorf("%v was given up; when the disk answers again, granted is %v, %v", g, h, err)
		}
		p.Coordinator.mu.Lock()
		p.Coordinator.inner = inner
		p.Coordinator.mu.Unlock()
	})
}

// hasAnswered has the disk look as if it had answered a moment ago, so that a worker ID is asked for.
func (p *process) hasAnswered() {
	p.Coordinator.mu.Lock()
	defer p.Coordinator.mu.Unlock()
	p.saver.began = time.Now()
}

// silence is a back end that says nothing.
type silence struct{ wrapped }

func (silence) Acquire(ctx context.Context, _ coord.Request) (coord.Grant, error) {
	<-ctx.Done()
	return coord.Grant{}, context.Cause(ctx)
}

func (silence) Inspect(ctx context.Context) (coord.Namespace, error) {
	<-ctx.Done()
	return coord.Namespace{}, context.Cause(ctx)
}

// TestSlowDiskAnswersAgain: a disk that takes longer for each record than an acquisition waits for it has answered again when
// it has stored one meanwhile.
func TestSlowDiskAnswersAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		var takes atomic.Int64
		r.sys = bubbleDisk(&takes)
		p := r.start()
		g := p.acquire(1)
		p.known()
		takes.Store(int64(20 * time.Second))
		time.Sleep(10 * time.Second)
		if _, err := p.Renew(r.ctx(), g, tickNow()+horizon); !errors.Is(err, coord.ErrLeaseLost) {
			t.Fatalf("while the disk hangs: %v", err)
		}
		takes.Store(int64(2 * time.Second))
		var h coord.Grant
		err := errors.New("not asked")
		for n := 0; n < 40 && err != nil; n++ {
			h, err = p.Acquire(r.ctx(), r.request(1))
			time.Sleep(500 * time.Millisecond) // as a keeper does
		}
		if err != nil || h.WorkerID != g.WorkerID || h.NotBefore < g.NotAfter {
			t.Errorf("%v was given up; when the disk answers again, granted is %v, %v", g, h, err)
		}
		time.Sleep(time.Minute) // until the last record is written
	})
}
