package local

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/protocol/memstore"
	"github.com/unalike-id/unalike/internal/safetytest"
)

// space declares the namespace with a longest horizon; 0: the driver's.
func (r *rig) space(maxHorizon time.Duration) {
	r.Helper()
	err := memoryCoordinator(r, r.server).Init(r.ctx(),
		coord.Space{
			Fingerprint: layout, Scale: scale, LastTick: 1<<41 - 1, Capacity: 1024,
			MaxHorizon: maxHorizon,
		})
	if err != nil {
		r.Fatal(err)
	}
}

// TestRestart: a process that crashed, or was parked, is followed by one with the same worker ID,
// above the mark, while the back end is away as well as when it answers. However often that is, one
// token is sent, which is in the file before, and nothing is acquired with the token of a grant in
// the file.
func TestRestart(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		p := r.start()
		g := p.renew(p.acquire(4))
		if e := r.stored()[0]; e.Nonce != r.server.Meta().Nonce || e.Mark < g.NotAfter {
			safetytest.Of(t).Errorf("the file has %+v after %v", e, g)
		}
		for n := range 12 {
			p.kill()
			away := n%4 != 0
			r.away.Store(away)
			r.trouble = func(op string, ghost func(*protocol.Coordinator)) error {
				if op != "resume" {
					return nil
				}
				sent := r.stored()[0].Sent
				ghost(memoryCoordinator(t, r.server))
				if slot := r.server.Slots()[0]; slot.Token != sent.Token {
					safetytest.Of(t).Errorf("token %s was sent, and the file has %v", slot.Token, sent)
				}
				if away {
					return errAway // it has arrived all the same
				}
				return nil
			}
			p = r.start()
			h := p.acquire(4)
			r.follows(h, g)
			other := r.request(4)
			other.MustOpen = true
			if _, err := p.Acquire(r.ctx(), other); !errors.Is(err, coord.ErrNoWorkerID) {
				t.Errorf("another worker ID, though this one can be used soon: %v", err)
			}
			if g = p.renew(h); away && n%4 == 3 {
				last := g.NotBefore + 1
				if err := p.Release(r.ctx(), g, last); err != nil || r.sent[ops["release"]].Load() != 0 {
					t.Fatalf("parked: %v, %d releases were sent", err, r.sent[ops["release"]].Load())
				}
				if _, err := p.extend(g); !errors.Is(err, coord.ErrLeaseLost) {
					t.Errorf("renewed after it was parked: %v", err)
				}
				g.NotAfter = last
			}
		}
		r.away.Store(false)
		p.kill()
		r.trouble = nil
		p = r.start()
		r.follows(p.acquire(4), g)
		synctest.Wait()
		if slots := r.server.Slots(); len(slots) != 1 || slots[0].Generation > 6 {
			t.Errorf("the back end has %+v", slots)
		}
	})
}

// TestTokenOfTheFile: nothing is acquired with a token that is in the file: the back end would
// return its window from the beginning. With another one, another worker ID is leased.
func TestTokenOfTheFile(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		p := r.start()
		req := r.request(4)
		g, err := p.Acquire(r.ctx(), req)
		if err != nil {
			t.Fatal(err)
		}
		p.kill()
		p = r.start()
		req.Identity = "another" // which the grant in the file does not serve
		if h, err := p.Acquire(r.ctx(), req); err == nil ||
			!strings.Contains(err.Error(), "its token is that of worker ID") {
			t.Errorf("with its token: %v, %v", h, err)
		}
		req.Token = "another"
		if h, err := p.Acquire(r.ctx(), req); err != nil || h.WorkerID == g.WorkerID {
			safetytest.Unless(t, err).Errorf("with another one: %v, %v", h, err)
		}
	})
}

// TestGivenBackStaysDead: a grant is out of the file before its release is sent, which is not if
// that cannot be written; and it is dead, whatever becomes of the release.
func TestGivenBackStaysDead(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		p := r.start()
		req := r.request(4)
		g, err := p.Acquire(r.ctx(), req)
		if err != nil {
			t.Fatal(err)
		}
		release := func(want error) {
			t.Helper()
			if err := p.Release(r.ctx(), g, g.NotBefore); !errors.Is(err, want) {
				t.Errorf("released: %v; want %v", err, want)
			}
		}
		r.disk.is(errDisk)
		release(errDisk)
		if n := r.sent[ops["release"]].Load(); n != 0 {
			safetytest.Of(t).Errorf("the file cannot be written, and %d releases were sent", n)
		}
		r.disk.is(nil)
		r.trouble = func(op string, _ func(*protocol.Coordinator)) error {
			if op == "release" && len(r.stored()) > 0 {
				safetytest.Of(t).Error("a release is sent, and the file has the grant")
			}
			return errAway
		}
		release(errAway)
		if h, err := p.extend(g); !errors.Is(err, coord.ErrLeaseLost) {
			safetytest.Unless(t, err).Errorf("renewed: %v, %v", h, err)
		}
		if h, err := p.Acquire(r.ctx(), req); !errors.Is(err, coord.ErrLeaseLost) {
			safetytest.Unless(t, err).Errorf("acquired again with its token: %v, %v", h, err)
		}
		r.trouble = nil
		if release(nil); r.server.Slots()[0].Token != "" {
			safetytest.Of(t).Errorf("released once more: %+v", r.server.Slots())
		}
	})
}

// TestCalledOffRelease: a generator that was closed with a context which had ended has not parked
// its worker ID. The next one of the process goes on with it all the same, above the mark, while
// the back end is away as well as when it answers.
func TestCalledOffRelease(t *testing.T) {
	for _, away := range []bool{true, false} {
		inBubble(t, func(t *testing.T, r *rig) {
			p := r.start()
			g := p.renew(p.acquire(1))
			r.away.Store(away)
			ended, cancel := context.WithCancel(t.Context())
			cancel()
			if err := p.Release(ended, g, g.NotBefore); !errors.Is(err, context.Canceled) ||
				r.sent[ops["release"]].Load() != 0 {
				t.Errorf("away %t: %v", away, err)
			}
			if _, err := p.extend(g); !errors.Is(err, coord.ErrLeaseLost) {
				safetytest.Unless(t, err).Errorf("away %t: renewed after that: %v", away, err)
			}
			r.follows(p.acquire(1), g)
		})
	}
}

// TestIdentity: without the back end, nothing of another place, layout, share, identity or TTL is
// used, nor a window that is over; with it, another worker ID is leased, or what it says is the
// same.
func TestIdentity(t *testing.T) {
	for why, change := range map[string]func(*rig, *coord.Request){
		"another place": func(r *rig, _ *coord.Request) { r.place = "elsewhere" },
		"no place":      func(r *rig, _ *coord.Request) { r.place = "" },
		"another layout": func(_ *rig, q *coord.Request) {
			q.Fingerprint = "40/10/13/1ms/2024-01-01T00:00:00Z"
		},
		"another share": func(_ *rig, q *coord.Request) {
			q.Workers = coord.Range{First: 100, Count: 4}
		},
		"another identity": func(_ *rig, q *coord.Request) { q.Identity = "another" },
		"another TTL":      func(_ *rig, q *coord.Request) { q.TTL *= 2 },
		"shorter layout":   func(_ *rig, q *coord.Request) { q.LastTick = q.Now + 10 },
		"an hour behind": func(_ *rig, q *coord.Request) {
			q.Now, q.Until = q.Now-3_600_000, q.Until-3_600_000
		},
		"an hour later": func(_ *rig, q *coord.Request) {
			q.Now, q.Until = q.Now+3_600_000, q.Until+3_600_000
		},
	} {
		inBubble(t, func(t *testing.T, r *rig) {
			g := r.left()
			r.away.Store(true)
			req := r.request(4)
			change(r, &req)
			p := r.start()
			if h, err := p.Acquire(r.ctx(), req); !errors.Is(err, errAway) ||
				strings.Contains(err.Error(), "the last window in state file") != (why == "an hour later") {
				t.Errorf("%s: %v, %v; want the back end's error", why, h, err)
			}
			r.away.Store(false)
			if h, err := p.Acquire(r.ctx(), req); strings.Contains(why, "place") {
				r.follows(h, g)
			} else if err == nil && h.WorkerID == g.WorkerID && h.NotBefore < g.NotAfter {
				safetytest.Of(t).Errorf("%s: %v after %v", why, h, g)
			}
		})
	}
}

// TestNamespaceMadeAnew: the windows of the old namespace must be over: at a start, and for who
// went on without the back end.
func TestNamespaceMadeAnew(t *testing.T) {
	for _, offline := range []bool{false, true} {
		inBubble(t, func(t *testing.T, r *rig) {
			g := r.left()
			r.away.Store(offline)
			p := r.start()
			if offline {
				g = p.acquire(4)
			}
			r.server.Delete()
			r.space(0)
			r.away.Store(false)
			const says = "delete the file when the windows in it are over"
			if !offline {
				if _, err := p.ask(); !errors.Is(err, coord.ErrInvalid) ||
					!strings.Contains(err.Error(), says) {
					t.Errorf("with the windows of the old namespace: %v", err)
				}
			}
			var err error
			for range 40 {
				time.Sleep(time.Second)
				if h, failed := p.extend(g); failed == nil {
					g = h
				} else {
					err = failed
				}
			}
			if offline && !errors.Is(err, coord.ErrLeaseLost) {
				safetytest.Unless(t, err).Errorf("its window is over: %v", err)
			}
			if h := p.acquire(4); h.Generation != 1 {
				safetytest.Of(t).Errorf("when they are over: %v", h)
			}
		})
	}
}

// TestLongerThanDeclared: a process that was started again with a longer horizon than its namespace
// allows is refused, although the back end takes one that is so little longer for that of a clock
// which differs. So is its first renewal, if it went on while the back end was away.
func TestLongerThanDeclared(t *testing.T) {
	const longest = 2 * time.Minute
	for _, beyond := range []time.Duration{time.Millisecond, longest} {
		inBubble(t, func(t *testing.T, r *rig) {
			r.left()
			req := r.request(4)
			req.Until = req.Now + (longest + beyond).Milliseconds()
			says := fmt.Sprintf("Horizon is %v, and the namespace of state file %q has %v at most; declare "+
				"a new one with 'unalike init --max-horizon %v', which may follow this one (--after)",
				longest+beyond, r.file(), longest, longest+beyond)
			p := r.start()
			if h, err := p.Acquire(r.ctx(), req); !errors.Is(err, coord.ErrInvalid) ||
				!strings.Contains(err.Error(), says) || r.sent[ops["resume"]].Load() != 0 {
				t.Errorf("%v, %v; want %q", h, err, says)
			}
			r.away.Store(true)
			g, err := p.Acquire(r.ctx(), req)
			if err != nil {
				t.Fatal(err)
			}
			r.away.Store(false)
			time.Sleep(2 * time.Second)
			g = p.renew(p.renew(g))
			synctest.Wait()
			if o, ok := p.Outage(p.renew(g)); !ok || !strings.Contains(fmt.Sprint(o.Failing), says) {
				t.Errorf("when the back end answers: %+v; want %q", o, says)
			}
		})
	}
}

// TestRestoredBackEnd: a back end that has come back with a backup, of which nobody else knows
// anything, has forgotten what the file remembers. What it grants anew begins above the mark.
func TestRestoredBackEnd(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.space(0)
		restore := r.server.Snapshot()
		g := r.left()
		restore()
		p := r.start()
		for range 2 { // one of them is what was forgotten
			h := p.acquire(2)
			if h.WorkerID == g.WorkerID && h.NotBefore < g.NotAfter {
				safetytest.Of(t).Errorf("after %v, of which the back end knows nothing: %v", g, h)
			}
		}
	})
}

// TestFloor: a generator goes on above a floor while the back end is away, and so does the next
// process.
func TestFloor(t *testing.T) {
	for _, restart := range []bool{false, true} {
		inBubble(t, func(t *testing.T, r *rig) {
			p, lease := r.start(), coord.LeaseConfig{Horizon: time.Minute}
			g := r.generator(p, new(atomic.Int64), lease)
			time.Sleep(20 * time.Second)
			if _, err := p.Quarantine(r.ctx(), time.Now().Add(65*time.Second)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(15 * time.Second)
			r.away.Store(true)
			time.Sleep(51 * time.Second) // past the floor, and a restart is before the end of the piece
			if restart {
				p.kill()
				g = r.generator(r.start(), new(atomic.Int64), lease)
			}
			if _, err := g.Next(); err != nil {
				t.Errorf("above the floor, restart %t: %v", restart, err)
			}
		})
	}
}

// TestParkedBelowAPiece: a holder that is parked when the file has entered the piece above a floor,
// of which it does not know yet, leaves nothing of the gap to the next one.
func TestParkedBelowAPiece(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		p := r.start()
		g := p.acquire(4)
		p.mu.Lock()
		h := p.find(g)
		h.failing, h.entry.Current = errAway, piece{g.NotAfter + 1000, g.NotAfter + 5000}
		h.entry.Mark = h.entry.Current.From
		p.mu.Unlock()
		if err := p.Release(r.ctx(), g, g.NotAfter); err != nil {
			t.Fatal(err)
		}
		if e := r.stored()[0]; e.Mark < e.Current.From {
			safetytest.Of(t).Errorf("the file has %+v; what lies below %d is nobody's", e, e.Current.From)
		}
	})
}

// holdTwo has the mark come to the end of a piece above a floor, of which the keeper does not know
// yet, and the back end grant one above another floor, which ends so many ticks after the first.
func (h *heldGrant) holdTwo(ticks int64) (first piece, x extension) {
	first = piece{h.local.NotAfter + 1000, h.local.NotAfter + 2000}
	h.entry.Current, h.entry.Mark, h.stored = first, first.To, first.To
	x = extension{h.remote, h.remote}
	x.base.NotBefore, x.base.NotAfter = first.From, first.To
	x.g.NotBefore, x.g.NotAfter = first.To+1000, first.To+ticks
	h.adopt(x)
	return first, x
}

// TestPieceThatWasNotGiven: the mark has come to the end of a piece above a floor, of which the
// keeper does not know yet, and the back end grants one above another floor. The keeper is given
// the first, without what lies below it.
func TestPieceThatWasNotGiven(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		p := r.start()
		g := p.acquire(4)
		p.mu.Lock()
		defer p.unlock()
		h := p.find(g)
		first, x := h.holdTwo(2000)
		if got := p.give(h, g); got.NotBefore != first.From || got.NotAfter != first.To {
			safetytest.Of(t).Errorf("%v was held, then %+v granted, and %v above it; given is %v", g, first,
				x.g, got)
		}
	})
}

// TestPieceThatWasNotGivenInAnOutage: as TestPieceThatWasNotGiven, and the back end goes away
// before the keeper asks again. It is given both pieces, one after the other.
func TestPieceThatWasNotGivenInAnOutage(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		p := r.start()
		g := p.acquire(4)
		p.mu.Lock()
		_, x := p.find(g).holdTwo(600_000)
		p.unlock()
		r.away.Store(true)
		time.Sleep(34 * time.Second)
		var err error
		for range 3 {
			if g, err = p.extend(g); err != nil {
				t.Fatal(err)
			}
		}
		if g.NotBefore != x.g.NotBefore || g.NotAfter <= tickNow() {
			safetytest.Of(t).Errorf("%v was granted; given is %v at %d", x.g, g, tickNow())
		}
	})
}

// TestAtOnce: of two acquisitions with one token at the same time, one asks the back end, and both
// have its grant. Two generators of a process have two worker IDs.
func TestAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.left()
		p := r.start()
		r.slow.Store(int64(time.Second))
		req, got := r.request(4), make(chan coord.Grant, 3)
		for _, q := range []coord.Request{req, req, r.request(4)} {
			go func() {
				g, err := p.Acquire(r.ctx(), q)
				if err != nil {
					t.Error(err)
				}
				got <- g
			}()
		}
		workers := map[int]string{}
		for range 3 {
			g := <-got
			if other, ok := workers[g.WorkerID]; ok && other != g.Token {
				safetytest.Of(t).Errorf("two holders have worker ID %d", g.WorkerID)
			}
			workers[g.WorkerID] = g.Token
		}
		if len(workers) != 2 {
			t.Errorf("held are %v", workers)
		}
	})
}

// TestOneTooMany: what has no room in the file is not leased, and those that have go on.
func TestOneTooMany(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		p := r.start()
		g := p.acquire(1024)
		for n := 0; ; n++ {
			req := r.request(1024)
			req.Identity = strings.Repeat("<", coord.MaxName)
			if _, err := p.Acquire(r.ctx(), req); err != nil {
				if !errors.Is(err, coord.ErrInvalid) || n < 20 {
					t.Errorf("after %d: %v", n, err)
				}
				break
			}
		}
		time.Sleep(4 * time.Second)
		if g = p.renew(g); g.NotAfter < tickNow() {
			t.Errorf("the first holder has %v", g)
		}
	})
}

// TestAnotherServer: a namespace of the same name that another server has is another one, also with
// another layout.
func TestAnotherServer(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		g := r.left()
		r.server, r.place = memstore.NewServer("b"), "another"
		r.server.Clock = present{}.UnixMicro
		p := r.start()
		req := r.request(1)
		req.Fingerprint, req.LastTick = "40/10/13/1ms/2024-01-01T00:00:00Z", 1<<40-1
		req.Workers.First = g.WorkerID
		h, err := p.Acquire(r.ctx(), req)
		if err != nil || h.WorkerID != g.WorkerID || h.NotBefore > tickNow() {
			t.Fatalf("the file has %v of another namespace; granted is %v, %v", g, h, err)
		}
		if h, err = p.extend(h); err != nil || h.NotAfter <= tickNow() {
			t.Errorf("renewed: %v, %v", h, err)
		}
	})
}

// TestFreshRequest: a call that is made beside one without an answer tells the time at which it is
// made, not that of the first.
func TestFreshRequest(t *testing.T) {
	req := drivertest.Request(1)
	req.LastTick = req.Until + 1_000
	if got := fresh(req, staleRequest-1); !reflect.DeepEqual(got, req) {
		t.Errorf("after less than %v: %+v; want %+v", staleRequest, got, req)
	}
	got := fresh(req, 5*time.Second)
	if got.Now != req.Now+5_000 || got.OpenBy != req.OpenBy+5_000 || got.Until != req.LastTick {
		t.Errorf("after 5 s: from %d to %d, until %d; the request was from %d until %d, the "+
			"last tick is %d", got.Now, got.OpenBy, got.Until, req.Now, req.Until, req.LastTick)
	}
}
