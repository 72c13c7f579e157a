//go:build unix

package local

import (
	"context"
	"time"

	"github.com/unalike-id/unalike/internal/protocol"
)

// link returns the way of a process to the back end, on which the scheduler decides what becomes of
// a request and its answer. What comes late comes from nobody: by then the process may be dead.
func (p *proc) link() *link {
	w := p.w
	l := &link{Coordinator: p.inner, place: "another memory"}
	if p.server == w.server {
		l.place = "memory"
	}
	l.before = func(ctx context.Context, op string, ghost func(*protocol.Coordinator)) error {
		later := func() {
			c := w.wire[p.server]
			w.mu.Lock()
			defer w.mu.Unlock()
			w.ghosts = append(w.ghosts, func() {
				ghost(c)
				w.say("%v's %s comes late", p, op)
			})
		}
		switch w.park(ctx, p, op, false, time.Time{}) {
		case dies:
			return errDead
		case refused:
			return errAway
		case dropped:
			<-ctx.Done()
			return context.Cause(ctx)
		case late:
			later()
			<-ctx.Done()
			return context.Cause(ctx)
		case repeated:
			later()
		}
		return nil
	}
	l.after = func(ctx context.Context, op string, _ func(*protocol.Coordinator)) error {
		switch w.park(ctx, p, op+" answer", false, time.Time{}) {
		case dies:
			return errDead
		case dropped, late:
			<-ctx.Done()
			return context.Cause(ctx)
		case refused:
			return errAway
		}
		return nil
	}
	return l
}
