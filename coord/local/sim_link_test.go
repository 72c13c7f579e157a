//go:build unix

package local

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/lifetime"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/protocol/memstore"
)

// wired is the way of a process to the back end.
type wired struct{ p *proc }

func (l wired) Describe() coord.Description {
	d := l.p.inner.Describe()
	d.Place = "another memory"
	if l.p.server == l.p.w.server {
		d.Place = "memory"
	}
	return d
}

func (l wired) Close() error { return l.p.inner.Close() }

// carry has the network carry a request and its answer. What comes late comes from nobody:
// by then the process may be dead.
func carry[T any](ctx context.Context, p *proc, what string, do func(context.Context, *protocol.Coordinator) (T, error)) (answer T, err error) {
	var none T
	w := p.w
	ghost := func() {
		c := w.wire[p.server]
		w.mu.Lock()
		defer w.mu.Unlock()
		w.ghosts = append(w.ghosts, func() {
			r, err := do(context.Background(), c)
			w.say("%v's %s comes late: %v, %v", p, what, r, err)
		})
	}
	switch w.park(ctx, p, what, false, time.Time{}) {
	case dies:
		return none, errDead
	case refused:
		return none, errAway
	case dropped:
		<-ctx.Done()
		return none, context.Cause(ctx)
	case late:
		ghost()
		<-ctx.Done()
		return none, context.Cause(ctx)
	case repeated:
		ghost()
	}
	answer, err = do(ctx, p.inner)
	w.say("%v's %s: %v, %v", p, what, answer, err)
	switch w.park(ctx, p, what+" answer", false, time.Time{}) {
	case dies:
		return none, errDead
	case dropped, late:
		<-ctx.Done()
		return none, context.Cause(ctx)
	case refused:
		return none, errAway
	}
	return answer, err
}

// unbound is a grant as it is on the wire, for whoever does not have the session.
func unbound(c *protocol.Coordinator, p *proc, g coord.Grant) coord.Grant {
	if c != p.inner {
		g.Handle = nil
	}
	return g
}

func (l wired) Acquire(ctx context.Context, req coord.Request) (coord.Grant, error) {
	return carry(ctx, l.p, "acquire", func(ctx context.Context, c *protocol.Coordinator) (coord.Grant, error) {
		return c.Acquire(ctx, req)
	})
}

func (l wired) Renew(ctx context.Context, g coord.Grant, until int64) (coord.Grant, error) {
	return carry(ctx, l.p, "renew", func(ctx context.Context, c *protocol.Coordinator) (coord.Grant, error) {
		return c.Renew(ctx, unbound(c, l.p, g), until)
	})
}

func (l wired) Resume(ctx context.Context, g coord.Grant, token string, until int64) (coord.Grant, error) {
	return carry(ctx, l.p, "resume", func(ctx context.Context, c *protocol.Coordinator) (coord.Grant, error) {
		return c.Resume(ctx, unbound(c, l.p, g), token, until)
	})
}

func (l wired) Release(ctx context.Context, g coord.Grant, last int64) error {
	_, err := carry(ctx, l.p, "release", func(ctx context.Context, c *protocol.Coordinator) (int64, error) {
		return last, c.Release(ctx, unbound(c, l.p, g), last)
	})
	return err
}

func (l wired) Inspect(ctx context.Context) (coord.Namespace, error) {
	return carry(ctx, l.p, "inspect", func(ctx context.Context, c *protocol.Coordinator) (coord.Namespace, error) {
		return c.Inspect(ctx)
	})
}

// bubble is the clock of a run.
type bubble struct{}

func (bubble) UnixMicro() int64 { return time.Now().UnixMicro() }

// simulated returns a coordinator over a server in memory.
func simulated(tb testing.TB, server *memstore.Server) *protocol.Coordinator {
	common, err := lifetime.Settings{}.Resolve(2*time.Minute, time.Second)
	if err != nil {
		tb.Fatal(err)
	}
	c, err := protocol.New(memstore.Store{Server: server}, protocol.Settings{
		Driver: "memory", Title: "the memory", Namespace: "orders", Place: "memory", MinTTL: time.Second, MaxHorizon: 2 * time.Minute,
		SkewBound: common.SkewBound, Clock: bubble{}, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		tb.Fatal(err)
	}
	return c
}
