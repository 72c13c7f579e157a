package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/protocol/memstore"
)

// failOnce has the first record with a grant not written, after what is to happen before.
func failOnce(before func()) func(*system) {
	var failed atomic.Bool
	return func(s *system) {
		write := s.write
		s.write = func(f *os.File, b []byte, at int64) error {
			if bytes.Contains(b, []byte(`"pairs":`)) && !failed.Swap(true) {
				before()
				return errors.New("input/output error")
			}
			return write(f, b, at)
		}
	}
}

// TestDiskErrorAtStart: one error of the disk, and the same token asks again, as a
// keeper does.
func TestDiskErrorAtStart(t *testing.T) {
	r := newRig(t)
	r.sys = failOnce(func() {})
	p := r.start()
	req := r.request(4)
	if _, err := p.Acquire(r.ctx(), req); err == nil {
		t.Fatal("nothing was stored")
	}
	var err error
	for range 5 {
		if _, err = p.Acquire(r.ctx(), req); err == nil {
			return
		}
	}
	t.Fatalf("the disk writes again, and a start never comes back: %v", err)
}

// twoStarts has two generators of one process start without the back end. They must not have
// the same worker ID.
func (r *rig) twoStarts() {
	r.Helper()
	r.away.Store(true)
	p := r.start()
	g, err1 := p.Acquire(r.ctx(), r.request(4))
	h, err2 := p.Acquire(r.ctx(), r.request(4))
	if err1 == nil && err2 == nil && g.WorkerID == h.WorkerID {
		r.Fatalf("two generators have %v and %v", g, h)
	}
}

// TestGrantTwiceInFile: a grant whose first record was not written is in the file twice
// after the second attempt.
func TestGrantTwiceInFile(t *testing.T) {
	r := newRig(t)
	var p *process
	r.sys = failOnce(func() {
		r.eventually("the nonce is known", func() bool {
			p.Coordinator.mu.Lock()
			defer p.Coordinator.mu.Unlock()
			for _, h := range p.holds {
				return h.entry.Nonce != ""
			}
			return false
		})
	})
	p = r.start()
	req := r.request(4)
	for range 3 {
		_, _ = p.Acquire(r.ctx(), req)
	}
	p.known()
	p.kill()
	r.twoStarts()
}

// TestAcquireTwiceAtOnce: of two acquisitions with one token at the same time, one asks the back
// end, and both have its grant.
func TestAcquireTwiceAtOnce(t *testing.T) {
	r := newRig(t)
	p := r.start()
	asked, answer := make(chan struct{}), make(chan struct{})
	var n atomic.Int32
	p.link.trouble = func(op string, _ func(coord.Coordinator)) error {
		if op == "acquire" && n.Add(1) == 1 {
			close(asked)
			<-answer
		}
		return nil
	}
	req := r.request(4)
	type result struct {
		g   coord.Grant
		err error
	}
	both := make(chan result, 2)
	ask := func() {
		g, err := p.Acquire(r.ctx(), req)
		both <- result{g, err}
	}
	go ask()
	<-asked
	go ask()
	ctx, cancel := context.WithTimeout(r.ctx(), 50*time.Millisecond)
	defer cancel()
	if g, err := p.Acquire(ctx, req); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("beside one that is under way: %v, %v", g, err)
	}
	close(answer)
	one, two := <-both, <-both
	if one.err != nil || two.err != nil || nameOf(one.g) != nameOf(two.g) || n.Load() != 1 {
		t.Errorf("%v and %v, after %d questions", one, two, n.Load())
	}
	p.known()
	p.kill()
	r.twoStarts()
}

// TestRace: again reads what a renewal writes (needs -race).
func TestRace(t *testing.T) {
	r := newRig(t)
	p := r.start()
	req := r.request(4)
	g, err := p.Acquire(r.ctx(), req)
	if err != nil {
		t.Fatal(err)
	}
	var done sync.WaitGroup
	done.Go(func() {
		for range 200 {
			_, _ = p.Acquire(r.ctx(), req)
		}
	})
	done.Go(func() {
		for range 200 {
			_, _ = p.Renew(r.ctx(), g, tickNow()+horizon)
		}
	})
	done.Wait()
}

// TestPlaceOfEntries: what is in a file of another namespace is written back as if it
// were of this one, if nobody asked for it.
func TestPlaceOfEntries(t *testing.T) {
	r := newRig(t)
	share := func(first int) coord.Request {
		req := r.request(1)
		req.Workers.First = first
		return req
	}
	p := r.start()
	g, err := p.Acquire(r.ctx(), share(0))
	if err != nil {
		t.Fatal(err)
	}
	p.known()
	p.kill()

	r.place, r.server = "another", memstore.NewServer("b")
	p = r.start()
	if _, err := p.Acquire(r.ctx(), share(1)); err != nil {
		t.Fatal(err)
	}
	p.known()
	p.kill()

	r.away.Store(true)
	if h, err := r.start().Acquire(r.ctx(), share(0)); err == nil {
		t.Fatalf("%v of one namespace is used in another one as %v", g, h)
	}
}

// TestOldEntryFirst: beside a grant whose window is over, one that serves.
func TestOldEntryFirst(t *testing.T) {
	r := newRig(t)
	p := r.start()
	short := r.request(4)
	short.Until = short.Now + 300
	if _, err := p.Acquire(r.ctx(), short); err != nil {
		t.Fatal(err)
	}
	p.acquire(4)
	p.known()
	p.kill()
	r.eventually("the first window is over", func() bool { return tickNow() > short.Until+10 })
	r.away.Store(true)
	p = r.start()
	var err error
	for range 5 {
		if _, err = p.Acquire(r.ctx(), r.request(4)); err == nil {
			return
		}
	}
	t.Fatalf("a window in the file is open, and nobody gets it: %v", err)
}

// TestLateWindow: the mark lies 20 s ahead, because the clock was; other worker IDs
// serve at once.
func TestLateWindow(t *testing.T) {
	r := newRig(t)
	p := r.start()
	req := r.request(4)
	req.Now, req.Until, req.OpenBy = req.Now+20_000, req.Until+20_000, req.OpenBy+20_000
	if _, err := p.Acquire(r.ctx(), req); err != nil {
		t.Fatal(err)
	}
	p.known()
	p.kill()
	if g := r.start().acquire(4); g.NotBefore > tickNow()+5_000 {
		t.Fatalf("the window opens in %d ms, and another worker ID would serve at once", g.NotBefore-tickNow())
	}
}

// TestNamespaceAnewWhileAlone: a generator that went on without the back end, which then
// has another namespace of the name: when its window is over, it must have another worker ID.
func TestNamespaceAnewWhileAlone(t *testing.T) {
	r := newRig(t)
	p := r.start()
	req := r.request(4)
	req.Until = req.Now + 5_000
	if _, err := p.Acquire(r.ctx(), req); err != nil {
		t.Fatal(err)
	}
	p.known()
	p.kill()
	r.away.Store(true)
	r.server = memstore.NewServer("b")
	p = r.start()
	g := p.acquire(4)
	r.away.Store(false)
	r.eventually("the grant is lost when its window is over", func() bool {
		next, err := p.Renew(r.ctx(), g, tickNow()+horizon)
		if err == nil {
			g = next
		}
		return errors.Is(err, coord.ErrLeaseLost)
	})
}

// TestOrphan: an acquisition that nobody waited for keeps its grant from those after it.
func TestOrphan(t *testing.T) {
	r := newRig(t)
	p := r.start()
	p.acquire(4)
	p.known()
	p.kill()
	r.away.Store(true)
	hang := make(chan struct{})
	var hangs atomic.Bool
	hangs.Store(true)
	r.sys = func(s *system) {
		sync := s.sync
		s.sync = func(f *os.File) error {
			if hangs.Load() {
				<-hang
			}
			return sync(f)
		}
	}
	p = r.start()
	ctx, cancel := context.WithTimeout(r.ctx(), 300*time.Millisecond)
	defer cancel()
	if _, err := p.Acquire(ctx, r.request(4)); err == nil {
		t.Fatal("the disk hangs")
	}
	hangs.Store(false)
	close(hang)
	if _, err := p.Acquire(r.ctx(), r.request(4)); err != nil {
		t.Fatalf("the next generator of the process: %v", err)
	}
}

// TestQuarantinedRestarts: each attempt in a quarantine is a token more.
func TestQuarantinedRestarts(t *testing.T) {
	r := newRig(t)
	p := r.start()
	p.acquire(4)
	p.known()
	if _, err := p.link.Coordinator.Quarantine(r.ctx(), time.Now().Add(10*time.Minute)); err != nil {
		t.Fatal(err)
	}
	p.kill()
	p = r.start()
	for n := range 8 {
		g, err := p.Acquire(r.ctx(), r.request(4))
		if err == nil {
			if g.NotBefore > tickNow()+5_000 {
				t.Errorf("attempt %d: %v, and the window in the file is open", n, g)
			}
			return
		}
		if n == 7 {
			t.Errorf("the window in the file is open, and nobody gets it: %v", err)
		}
	}
	p.Coordinator.mu.Lock()
	defer p.Coordinator.mu.Unlock()
	if len(p.entries) == 0 {
		t.Fatal("and the grant is forgotten")
	}
}

// TestSlotBeyondRepair: one grant of the file can never be resumed, for another reason
// than that it is lost.
func TestSlotBeyondRepair(t *testing.T) {
	r := newRig(t)
	p := r.start()
	req := r.request(4)
	req.Until = req.Now + 300
	if _, err := p.Acquire(r.ctx(), req); err != nil {
		t.Fatal(err)
	}
	p.known()
	p.kill()
	r.eventually("the window is over", func() bool { return tickNow() > req.Until+10 })
	p = r.start()
	p.link.trouble = func(op string, _ func(coord.Coordinator)) error {
		if op == "resume" {
			return errors.New("the slot is damaged")
		}
		return nil
	}
	var err error
	for range 4 {
		if _, err = p.Acquire(r.ctx(), r.request(4)); err == nil {
			return
		}
	}
	t.Fatalf("other worker IDs are free, and none is leased: %v", err)
}

// TestWindowOver: where the window in the file is over, and the back end does not answer, that is
// what a start is told, and what the back end says: whether it refuses, or keeps silent for as long
// as there is time.
func TestWindowOver(t *testing.T) {
	for _, silent := range []bool{false, true} {
		r := newRig(t)
		g := r.left()
		r.away.Store(true)
		p := r.start()
		p.Coordinator.inner = away{p.link, silent}
		req := r.request(4)
		req.Now, req.Until, req.OpenBy = req.Now+2*horizon, req.Until+2*horizon, req.OpenBy+2*horizon
		ctx, cancel := context.WithTimeout(r.ctx(), 200*time.Millisecond)
		h, err := p.Acquire(ctx, req)
		cancel()
		if !errors.Is(err, errAway) {
			t.Fatalf("silent %t: %v, %v after %v", silent, h, err, g)
		}
		end := time.UnixMicro(scale.Micro(p.entries[0].end() + 1)).UTC().Format("2006-01-02T15:04:05.000Z")
		if says := fmt.Sprintf("the last window in state file %q ended at %s, so that the coordinator is needed: ", r.file(), end); !strings.HasPrefix(err.Error(), says) || strings.Contains(err.Error(), "is not written") {
			t.Errorf("silent %t: %q; want %q, and what the back end says", silent, err, says)
		}
	}
}

// away is the way to a back end that does not answer.
type away struct {
	*link
	silent bool
}

func (a away) Inspect(ctx context.Context) (coord.Namespace, error) {
	if a.silent {
		<-ctx.Done()
	}
	return a.link.Inspect(ctx)
}
