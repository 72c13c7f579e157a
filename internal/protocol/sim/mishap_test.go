package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/unalike-id/unalike/internal/protocol"
)

// mishap does what nobody wants, or begins a plot.
func (w *world) mishap() {
	switch n := w.rng.IntN(46); {
	case n < 6:
		w.expire(w.rng.IntN(w.share))
	case n < 12:
		w.keep()
	case n < 14:
		w.lose(anyBackup, nil)
	case n < 21:
		w.setClock()
	case n < 24:
		w.copied(w.someone())
	case n < 26:
		w.quarantine()
	case n < 28:
		w.lower()
	case n < 29:
		w.retire()
	case n < 30:
		w.declareLoss(true)
	case n < 32:
		w.cutOff(w.someone(), w.rng.IntN(2) == 0)
		w.plot = plot{{do: w.rejoin}}
	default:
		w.begin()
	}
}

// someone is an actor.
func (w *world) someone() *actor { return w.actors[w.rng.IntN(len(w.actors))] }

// cutOff has the network pass nothing on for an actor, or for its process.
func (w *world) cutOff(a *actor, process bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = func(b *actor) bool { return b == a || process && b.p == a.p }
	w.note(fmt.Sprintf("cut off: %d, its process: %t", a.id, process))
}

// rejoin ends that, and that actors pause or wait for what is lost.
func (w *world) rejoin() {
	w.note("nobody is cut off")
	w.mu.Lock()
	w.cut = nil
	for _, a := range w.actors {
		a.pause(false)
	}
	w.mu.Unlock()
	w.giveUp()
}

// expire ends a lease.
func (w *world) expire(id int) {
	w.note(fmt.Sprint("lease ends: ", id))
	w.server.Expire(id)
}

// lower has an operator lower the floor.
func (w *world) lower() {
	w.operate("lower", func(ctx context.Context, c *protocol.Coordinator) error {
		_, err := c.Lower(ctx)
		return err
	})
}

// retire has an operator retire a worker ID, of which enough are left.
func (w *world) retire() {
	if w.retired {
		return
	}
	w.retired = true
	w.operate("retire", func(ctx context.Context, c *protocol.Coordinator) error {
		return c.Retire(ctx, w.share-1)
	})
}

// setClock sets the clock of a process. Where the back end has a clock, it may be wrong by
// any amount. Else clocks have to be right, up to the bound between any two of them.
func (w *world) setClock() {
	p, off := w.procs[w.rng.IntN(len(w.procs))], w.skew/2
	if w.server.Clock != nil && p != w.procs[0] { // of which one is right
		off = []time.Duration{w.skew, 2 * w.skew, time.Hour}[w.rng.IntN(3)]
	}
	p.clock.set(time.Duration(w.rng.Int64N(int64(2*off))) - off)
	w.note(fmt.Sprint("clock of process ", p.id))
}

// copied has a copy of an acquisition arrive that was made before, perhaps by who holds
// something with the same token.
func (w *world) copied(a *actor) {
	if a.asked == "" {
		return
	}
	w.operate(fmt.Sprint("copy of an acquisition by ", a.id),
		func(ctx context.Context, c *protocol.Coordinator) error {
			ctx, cancel := context.WithTimeout(ctx, time.Millisecond) // it does not wait
			defer cancel()
			g, err := c.Acquire(ctx, a.request(a.asked, space.Scale.Tick(time.Now().UnixMicro())))
			if err == nil {
				w.say(fmt.Sprint("a copy has ", g))
			}
			return err
		})
}
