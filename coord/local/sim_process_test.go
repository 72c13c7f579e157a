//go:build unix

package local

import (
	"context"
	"fmt"
	"log/slog"
	mrand "math/rand/v2"
	"path/filepath"
	"sync"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/protocol/memstore"
)

// unit is a program that is started again and again.
type unit struct {
	id   int
	file string // empty: it has none
	p    *proc
}

// proc is one process of a unit.
type proc struct {
	w       *world
	unit    *unit
	name    string
	server  *memstore.Server
	layout  string
	inner   *protocol.Coordinator
	c       coord.Coordinator
	rng     *mrand.Rand
	parcels int
	dead    bool
	stopped bool          // it is to end in order
	closed  bool          // it has
	over    chan struct{} // closed when it dies
	offset  time.Duration // of its clock
}

func (p *proc) String() string { return p.name }

// journal is the log of a process.
type journal struct {
	slog.Handler
	p *proc
}

func (journal) Enabled(context.Context, slog.Level) bool { return true }

func (j journal) Handle(_ context.Context, r slog.Record) error {
	what := r.Message
	r.Attrs(func(a slog.Attr) bool { what += ", " + a.String(); return true })
	w := j.p.w
	w.mu.Lock()
	defer w.mu.Unlock()
	w.told("%v logs: %s", j.p, what)
	w.count[r.Message]++
	return nil
}

// begin starts a process of a unit.
func (w *world) begin(u *unit, n int) *proc {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := &proc{w: w, unit: u, name: fmt.Sprintf("%d/%d", u.id, n), server: w.server, layout: layout, over: make(chan struct{}), rng: mrand.New(mrand.NewPCG(w.rng.Uint64(), 1))}
	switch w.rng.IntN(12) {
	case 0:
		p.server = w.other
	case 1:
		p.layout = "41/11/11/1ms/2024-01-01T00:00:00Z"
	case 2, 3:
		p.offset = time.Duration(w.rng.IntN(1600)-800) * time.Millisecond
	}
	p.inner = memory(w.tb, p.server)
	p.c = p.link()
	if u.file != "" {
		c, err := New(p.link(), filepath.Join(w.dir, u.file), Options{Window: time.Second, Logger: slog.New(journal{slog.DiscardHandler, p})})
		if err != nil {
			w.tb.Fatal(err)
		}
		p.c = c
	}
	w.told("%v starts: file %q, other namespace %t, %s", p, u.file, p.server == w.other, p.layout)
	u.p = p
	return p
}

// run runs a unit until ctx ends.
func (w *world) run(ctx context.Context, u *unit) {
	for n := 0; ctx.Err() == nil; n++ {
		p := w.begin(u, n)
		if c, ok := p.c.(*Coordinator); ok {
			c.sys = p.system()
		}
		var actors sync.WaitGroup
		for range 1 + p.rng.IntN(2) {
			rng := mrand.New(mrand.NewPCG(p.rng.Uint64(), 2))
			actors.Go(func() { (&actor{p: p, rng: rng}).live(ctx) })
		}
		actors.Wait()
		_ = p.c.Close()
		time.Sleep(time.Duration(p.rng.IntN(1500)) * time.Millisecond)
		w.mu.Lock()
		p.closed = true
		w.crash(p)
		if p.rng.IntN(2) == 0 {
			w.tamper(u, p.rng)
		}
		w.mu.Unlock()
		time.Sleep(time.Duration(p.rng.IntN(500)) * time.Millisecond)
	}
}
