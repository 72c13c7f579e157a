package local

import (
	"context"
	"errors"
	"fmt"
	mrand "math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/testserver/fulltest"
)

// history is a random life of processes that share one file, one after the other, beside
// others that have none. No tick of a worker ID may be stamped twice.
type history struct {
	*rig
	random  *mrand.Rand
	stamped map[[2]int64]string
	mu      sync.Mutex // of log
	log     []string
	wire    *protocol.Coordinator // by which late requests arrive
	counts  map[string]int

	p      *process
	holder keeps
	others []*rival
	dead   bool
}

// keeps is what a keeper does of a grant.
type keeps struct {
	held   bool
	g      coord.Grant
	pieces []piece
	last   int64
}

// rival is a holder without a file.
type rival struct {
	keeps
	c *protocol.Coordinator
}

func (h *history) note(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.log = append(h.log, fmt.Sprintf("%d "+format, append([]any{tickNow()}, args...)...))
}

func (d *keeps) take(g coord.Grant) {
	if d.held && len(d.pieces) > 0 && d.pieces[len(d.pieces)-1].From == g.NotBefore {
		d.pieces[len(d.pieces)-1].To = g.NotAfter
	} else {
		d.pieces = append(d.pieces, piece{g.NotBefore, g.NotAfter})
	}
	d.g, d.held, d.last = g, true, max(d.last, d.pieces[0].From)
}

// stamp stamps the present, if a window has it.
func (h *history) stamp(who string, d *keeps) {
	now := tickNow()
	for _, p := range d.pieces {
		if d.held && now > p.From && now <= p.To && now > d.last {
			key := [2]int64{int64(d.g.WorkerID), now}
			if before, twice := h.stamped[key]; twice {
				for _, l := range h.log {
					h.Log(l)
				}
				h.Fatalf("tick %d of worker ID %d is stamped by %s of %v, and was by %s", now, d.g.WorkerID, who, d.g, before)
			}
			h.stamped[key], d.last = fmt.Sprintf("%s of %v", who, d.g), now
			h.counts["stamped"]++
			return
		}
	}
}

func (h *history) short() context.Context {
	ctx, cancel := context.WithTimeout(h.Context(), time.Duration(50+h.random.IntN(3000))*time.Millisecond)
	h.Cleanup(cancel)
	return ctx
}

// trouble makes the network lose, or delay, what is asked of the back end.
func (h *history) loses(op string, ghost func(*protocol.Coordinator)) error {
	switch n := h.random.IntN(20); {
	case n == 0: // lost on its way
		return errAway
	case n == 1 || h.away.Load() && n < 4: // late, perhaps after the death of whoever sent it
		h.note("%s is late", op)
		h.counts["late"]++
		time.AfterFunc(time.Duration(h.random.IntN(8000))*time.Millisecond, func() {
			if !h.dead {
				h.note("a late %s arrives", op)
				ghost(h.wire)
			}
		})
		return errAway
	}
	return nil
}

func (h *history) launch() {
	h.p = h.start()
	h.holder = keeps{}
	h.note("start")
}

func (h *history) step() {
	h.stamp("the process", &h.holder)
	for i, r := range h.others {
		h.stamp(fmt.Sprint("rival ", i), &r.keeps)
	}
	d := &h.holder
	switch n := h.random.IntN(100); {
	case n < 45: // the keeper's work
		if !d.held {
			g, err := h.p.Acquire(h.short(), h.request(2))
			h.note("Acquire: %v %v", g, err)
			if err == nil {
				d.take(g)
				h.counts["acquired"]++
			}
			return
		}
		g, err := h.p.Renew(h.short(), d.g, tickNow()+horizon)
		h.note("Renew: %v %v", g, err)
		switch {
		case err == nil:
			d.take(g)
		case errors.Is(err, coord.ErrLeaseLost):
			*d = keeps{}
			h.counts["lost"]++
		}
	case n < 52: // kill -9
		h.note("kill")
		h.p.kill()
		h.counts["killed"]++
		h.launch()
	case n < 57: // ended in order
		if d.held {
			last := max(d.last, d.g.NotBefore)
			err := h.p.Release(h.short(), d.g, last)
			h.note("Release at %d: %v", last, err)
			h.counts["released"]++
		}
		h.p.kill()
		h.launch()
	case n < 62:
		h.away.Store(!h.away.Load())
		h.note("away %t", h.away.Load())
	case n < 64:
		if !h.away.Load() {
			h.server.Expire(h.random.IntN(2))
			h.note("leases expire")
		}
	case n < 66:
		to := time.Now().Add(time.Duration(h.random.IntN(40)) * time.Second)
		if floor, err := h.wire.Quarantine(h.Context(), to); err == nil {
			h.note("floor %d", scale.Tick(floor.UnixMicro()))
			h.counts["floors"]++
		} else {
			h.note("no floor: %v", err)
		}
	default:
		h.rival(h.others[h.random.IntN(len(h.others))])
	}
}

func (h *history) rival(r *rival) {
	switch n := h.random.IntN(10); {
	case !r.held:
		req := h.request(2)
		if g, err := r.c.Acquire(h.Context(), req); err == nil {
			h.note("rival: %v", g)
			r.keeps = keeps{}
			r.take(g)
		}
	case n < 5:
		if g, err := r.c.Renew(h.Context(), r.g, tickNow()+horizon); err == nil {
			r.take(g)
		} else if errors.Is(err, coord.ErrLeaseLost) {
			r.keeps = keeps{}
		}
	case n < 9:
		h.note("rival releases %v", r.g)
		_ = r.c.Release(h.Context(), r.g, max(r.last, r.g.NotBefore))
		r.keeps = keeps{}
	default:
		r.keeps = keeps{} // dies
	}
}

func TestHistories(t *testing.T) {
	seeds := uint64(fulltest.Rounds(40, 2000))
	counts := map[string]int{}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { live(t, seed, counts) })
		})
	}
	t.Logf("%v", counts)
	for _, what := range []string{"stamped", "acquired", "lost", "killed", "released", "late", "floors"} {
		if counts[what] == 0 {
			t.Errorf("nothing was %s", what)
		}
	}
}

func live(t *testing.T, seed uint64, counts map[string]int) {
	time.Sleep(27 * 365 * 24 * time.Hour) // a bubble begins in 2000, before the epoch
	h := &history{rig: newRig(t), random: mrand.New(&shared{source: mrand.NewPCG(seed, 7)}), stamped: map[[2]int64]string{}, counts: counts}
	h.server.Clock = present{}.UnixMicro
	h.sys, h.trouble = h.disk.seam, h.loses
	h.wire = memory(t, h.server)
	if err := h.wire.Init(t.Context(), coord.Space{Fingerprint: layout, Scale: scale, LastTick: 1<<41 - 1, Capacity: 1024}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		h.others = append(h.others, &rival{c: memory(t, h.server)})
	}
	h.launch()
	for range 400 {
		h.step()
		time.Sleep(time.Duration(h.random.IntN(700)) * time.Millisecond)
		synctest.Wait()
	}
	h.dead = true
	h.p.kill()
}
