package lifetime

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// link is a server that a name leads to, and how connecting to it ends.
type link struct {
	name string
	err  error
	hang time.Duration
}

// rig has the pools of a rotation, each with one connection to the server that the name led to.
type rig struct {
	*testing.T
	*Rotation[*fakePool]
	mu   sync.Mutex
	to   link
	open []string // the servers of the connections that are open
}

// fakePool is a pool of a rig.
type fakePool struct {
	rig    *rig
	server string // empty: there is no connection
}

func (p *fakePool) Connections() int { return min(1, len(p.server)) }

func (p *fakePool) Connect(ctx context.Context) error {
	p.rig.mu.Lock()
	to := p.rig.to
	p.rig.mu.Unlock()
	select {
	case <-time.After(to.hang):
	case <-ctx.Done():
		return ctx.Err()
	}
	if to.err != nil {
		return to.err
	}
	p.rig.mu.Lock()
	defer p.rig.mu.Unlock()
	p.server = to.name
	p.rig.open = append(p.rig.open, to.name)
	return nil
}

func (p *fakePool) Close() {
	p.rig.mu.Lock()
	defer p.rig.mu.Unlock()
	if i := slices.Index(p.rig.open, p.server); i >= 0 {
		p.rig.open = slices.Delete(p.rig.open, i, i+1)
	}
}

// rotate runs a test of a rotation whose name leads to the server "old", in a bubble.
func rotate(t *testing.T, test func(r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &rig{T: t, to: link{name: "old"}}
		var err error
		r.Rotation, err = Rotate(func() (*fakePool, error) { return &fakePool{rig: r}, nil })
		if err != nil {
			t.Fatal(err)
		}
		test(r)
		r.Close()
		synctest.Wait()
		r.wantOpen()
	})
}

// call makes a call that lasts for a time, and returns the server that it went to.
func (r *rig) call(ctx context.Context, lasts time.Duration) string {
	r.Helper()
	pool, leave := r.Enter(ctx)
	defer leave()
	if pool.Connections() == 0 {
		if err := pool.Connect(ctx); err != nil {
			r.Fatal(err)
		}
	}
	time.Sleep(lasts)
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Contains(r.open, pool.server) {
		r.Errorf("the connection to %s was closed while it was in use", pool.server)
	}
	return pool.server
}

// want makes a call that is to go to a server.
func (r *rig) want(server string) {
	r.Helper()
	if got := r.call(r.Context(), 0); got != server {
		r.Fatalf("a call goes to %s; want %s", got, server)
	}
}

// wantOpen checks which servers there are connections to.
func (r *rig) wantOpen(servers ...string) {
	r.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Equal(r.open, servers) {
		r.Errorf("connections to %q are open; want %q", r.open, servers)
	}
}

// lead has the name lead elsewhere.
func (r *rig) lead(to link) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.to = to
}

// TestRotation_LeavesAServerInTime: no call uses a connection that is older than MaxAge, whether
// calls come all the time or after a long pause, and no connection is replaced early. Of calls that
// come all the time, none waits.
func TestRotation_LeavesAServerInTime(t *testing.T) {
	for _, every := range []time.Duration{time.Second, MaxAge, time.Hour} {
		rotate(t, func(r *rig) {
			time.Sleep(time.Hour) // without a connection nothing grows old
			r.want("old")
			began := time.Now()
			r.lead(link{name: "new", hang: time.Second / 2})
			for time.Sleep(every); r.call(r.Context(), 0) == "old"; time.Sleep(every) {
				if age := time.Since(began); age > MaxAge {
					r.Fatalf("a connection is in use %v after it was opened", age)
				}
			}
			if waited := time.Since(began) % time.Second; every == time.Second && waited > 0 {
				r.Errorf("a call has waited for %v", waited)
			}
			if age := time.Since(began); age < MaxAge/2 {
				r.Errorf("a connection was replaced after %v", age)
			}
		})
	}
}

// TestRotation_SpreadsSuccessors: processes that have connected together do not do so again.
func TestRotation_SpreadsSuccessors(t *testing.T) {
	seen := map[time.Duration]bool{}
	for range 10 {
		rotate(t, func(r *rig) {
			r.want("old")
			r.lead(link{name: "new"})
			began := time.Now()
			for r.call(r.Context(), 0) == "old" {
				time.Sleep(time.Second)
			}
			seen[time.Since(began)] = true
		})
	}
	if len(seen) < 4 {
		t.Errorf("ten connections were replaced at the ages %v", seen)
	}
}

// TestRotation_KeepsTheOld: a connection stays in use if no other one can be opened, and is
// replaced soon after one can.
func TestRotation_KeepsTheOld(t *testing.T) {
	rotate(t, func(r *rig) {
		r.want("old")
		r.lead(link{name: "new", err: errors.New("too many clients already")})
		for range 100 {
			time.Sleep(MaxAge / 10)
			r.want("old")
		}
		r.lead(link{name: "new"})
		time.Sleep(MaxAge / 6)
		r.want("new")
	})
}

// TestRotation_HangingName: a call keeps half of its time if the name leads to nothing that
// answers. The attempt goes on after the call.
func TestRotation_HangingName(t *testing.T) {
	rotate(t, func(r *rig) {
		r.want("old")
		r.lead(link{name: "new", hang: 2 * time.Second})
		time.Sleep(MaxAge)
		ctx, cancel := context.WithTimeout(r.Context(), time.Second)
		defer cancel()
		began := time.Now()
		if got := r.call(ctx, 0); got != "old" || time.Since(began) != time.Second/2 {
			r.Errorf("a call of a second went to %s after %v; want half a second", got, time.Since(began))
		}
		time.Sleep(2 * time.Second)
		r.want("new")
	})
}

// TestRotation_LongCall: the old connection is closed after the calls that use it, and not before
// there is a new one.
func TestRotation_LongCall(t *testing.T) {
	rotate(t, func(r *rig) {
		r.want("old")
		r.lead(link{name: "new"})
		var calls sync.WaitGroup
		calls.Go(func() { r.call(r.Context(), 2*MaxAge) })
		time.Sleep(MaxAge)
		r.want("new")
		r.wantOpen("old", "new")
		calls.Wait()
		synctest.Wait()
		r.wantOpen("new")
	})
}

// TestRotation_Close: an attempt that hangs ends with the rotation.
func TestRotation_Close(t *testing.T) {
	rotate(t, func(r *rig) {
		r.want("old")
		r.lead(link{hang: time.Hour})
		time.Sleep(MaxAge)
		r.want("old")
	})
}
