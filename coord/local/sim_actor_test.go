//go:build unix

package local

import (
	"context"
	"crypto/rand"
	"errors"
	mrand "math/rand/v2"
	"time"

	"github.com/unalike-id/unalike/coord"
)

// actor is a generator of a process.
type actor struct {
	p    *proc
	rng  *mrand.Rand
	g    coord.Grant
	last int64
	held bool
}

func (a *actor) request() coord.Request {
	now := scale.Tick(time.Now().Add(a.p.offset).UnixMicro())
	return coord.Request{
		Token: rand.Text(), Holder: a.p.name, Fingerprint: a.p.layout, Scale: scale, LastTick: 1<<41 - 1,
		Workers: coord.Range{Count: workers}, Capacity: 1024, TTL: 4 * time.Second,
		Now: now, Until: now + 8000, OpenBy: now + 2000, Ahead: 5,
	}
}

// live acquires, stamps, renews and gives back, until its process ends.
func (a *actor) live(ctx context.Context) {
	p := a.p
	for {
		p.w.mu.Lock()
		dead, stopped := p.dead, p.stopped
		p.w.mu.Unlock()
		switch {
		case dead || ctx.Err() != nil:
			return
		case stopped:
			a.release(ctx)
			return
		case !a.held:
			a.acquire(ctx)
		case a.rng.IntN(60) == 0:
			a.release(ctx)
		case a.rng.IntN(2) == 0:
			a.stamp()
		default:
			a.renew(ctx)
		}
		a.pause(ctx, 200*time.Millisecond)
	}
}

// pause waits for up to d.
func (a *actor) pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(1 + time.Duration(a.rng.Int64N(int64(d)))):
	case <-a.p.over:
	case <-ctx.Done():
	}
}

// call makes a call with a deadline, as a keeper does.
func (a *actor) call(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(200+a.rng.IntN(4000))*time.Millisecond)
	defer cancel()
	return f(ctx)
}

func (a *actor) acquire(ctx context.Context) {
	req, tries := a.request(), 1+a.rng.IntN(4)
	var g coord.Grant
	err := errors.New("not asked")
	for n := 0; n < tries && err != nil && !errors.Is(err, errInUse) && ctx.Err() == nil; n++ {
		err = a.call(ctx, func(ctx context.Context) (err error) { g, err = a.p.c.Acquire(ctx, req); return err })
	}
	if err != nil {
		a.p.w.say("%v gets nothing: %v", a.p, err)
		if errors.Is(err, errInUse) {
			a.pause(ctx, 2*time.Second)
		}
		return
	}
	a.g, a.last, a.held = g, g.NotBefore, true
	a.p.w.granted(a.p, "acquire", g)
}

func (a *actor) stamp() {
	if a.last >= a.g.NotAfter {
		return
	}
	to := a.g.NotAfter
	if a.rng.IntN(3) > 0 {
		to = a.last + 1 + a.rng.Int64N(a.g.NotAfter-a.last)
	}
	if a.p.w.stamp(a.p, a.g, a.last, to) {
		a.last = to
	}
}

func (a *actor) renew(ctx context.Context) {
	until := scale.Tick(time.Now().Add(a.p.offset).UnixMicro()) + 8000
	var g coord.Grant
	err := a.call(ctx, func(ctx context.Context) (err error) { g, err = a.p.c.Renew(ctx, a.g, until); return err })
	switch {
	case errors.Is(err, coord.ErrLeaseLost):
		a.p.w.say("%v has lost %v: %v", a.p, a.g, err)
		a.held = false
	case err != nil:
		a.p.w.say("%v: renewal of %v: %v", a.p, a.g, err)
	case g.NotBefore != a.g.NotBefore && g.NotBefore >= a.g.NotAfter: // a piece
		if a.rng.IntN(2) == 0 {
			a.stamp()
		}
		a.g, a.last = g, max(a.last, g.NotBefore)
		a.p.w.granted(a.p, "piece", g)
	default:
		a.g = g
		a.p.w.granted(a.p, "renew", g)
	}
}

func (a *actor) release(ctx context.Context) {
	if !a.held {
		return
	}
	a.held = false
	a.p.w.say("%v gives %v back, last %d", a.p, a.g, a.last)
	for range 1 + a.rng.IntN(3) {
		err := a.call(ctx, func(ctx context.Context) error { return a.p.c.Release(ctx, a.g, a.last) })
		a.p.w.say("%v: release of %v: %v", a.p, a.g, err)
		if err == nil || errors.Is(err, coord.ErrLeaseLost) {
			return
		}
	}
}
