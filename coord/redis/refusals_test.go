package redis_test

import (
	"errors"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/redis"
	"github.com/unalike-id/unalike/internal/testserver/redistest"
)

// TestRefusals: what is decided by what was read is not written when something has come between
// that the step itself has to see. Each case acts before the first write of a call.
func TestRefusals(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	client := server.Client(t)
	type site struct {
		ns string
		c  *redis.Coordinator // of the call
		g  coord.Grant        // that it holds
	}
	renew := func(t *testing.T, s site) (coord.Grant, error) {
		t.Helper()
		return s.c.Renew(within(t), s.g, s.g.NotAfter+1000)
	}
	acquire := func(t *testing.T, s site) (coord.Grant, error) { t.Helper(); return s.c.Acquire(within(t), request(2)) }
	req := request(2)
	same := func(t *testing.T, s site) (coord.Grant, error) { t.Helper(); return s.c.Acquire(within(t), req) }
	retire := func(t *testing.T, s site) {
		t.Helper()
		for id := range 2 {
			if err := newCoordinator(t, client, s.ns, nil).Retire(within(t), id); err != nil {
				t.Error(err)
			}
		}
	}
	raise := func(t *testing.T, s site) {
		t.Helper()
		if _, err := newCoordinator(t, client, s.ns, nil).Quarantine(within(t), time.Now().Add(time.Hour)); err != nil {
			t.Error(err)
		}
	}
	for name, tc := range map[string]struct {
		call func(*testing.T, site) (coord.Grant, error)
		act  func(*testing.T, site)
		want error // of the call; nil: a grant above the floor
	}{
		"another lineage, renewal":     {renew, func(t *testing.T, s site) { t.Helper(); elsewhere(t, client, s.ns) }, coord.ErrQuarantined},
		"another lineage, acquisition": {acquire, func(t *testing.T, s site) { t.Helper(); elsewhere(t, client, s.ns) }, nil},
		"the floor, renewal":           {renew, raise, coord.ErrQuarantined},
		"the floor, acquisition":       {acquire, raise, nil},
		"another slot, renewal":        {renew, retire, coord.ErrLeaseLost},
		"another slot, acquisition":    {acquire, retire, coord.ErrNoWorkerID},
		"the token, acquisition":       {same, func(t *testing.T, s site) { t.Helper(); mustAcquire(t, newCoordinator(t, client, s.ns, nil), req) }, nil},
		"a grant, declaration": {func(t *testing.T, s site) (coord.Grant, error) {
			t.Helper()
			ns := newNamespace(t, client, layout)
			s.ns = ns
			i := interrupted(t, server)
			acted := i.before(1, `"unused"`, func() { mustAcquire(t, newCoordinator(t, client, ns, nil), request(1)) })
			err := newCoordinator(t, i.client, ns, nil).Init(within(t), space())
			if !acted() {
				t.Error("nothing was declared")
			}
			_, _ = acquire(t, s)
			return coord.Grant{}, err
		}, func(*testing.T, site) {}, coord.ErrInvalid},
		"the lease, renewal": {renew, func(t *testing.T, s site) { t.Helper(); redis.EndLease(t, client, s.ns, s.g.WorkerID) }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			ns, i := newNamespace(t, client, layout), interrupted(t, server)
			s := site{ns: ns, c: newCoordinator(t, i.client, ns, nil)}
			s.g = mustAcquire(t, s.c, request(2))
			acted := i.before(1, `"write"`, func() { tc.act(t, s) })
			h, err := tc.call(t, s)
			switch {
			case !acted():
				t.Error("nothing was written")
			case !errors.Is(err, tc.want):
				t.Errorf("%v, %v; want %v", h, err, tc.want)
			case err == nil && h.NotBefore < metaOf(t, client, ns).Floor:
				t.Errorf("%v was granted below the floor %d", h, metaOf(t, client, ns).Floor)
			}
		})
	}
}

// TestSettledInTime: a floor that was decided more than five seconds ago is not written: it knows
// nothing of what was lost since. The holder looks again.
func TestSettledInTime(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	client := server.Client(t)
	ns, i := newNamespace(t, client, layout), interrupted(t, server)
	c := newCoordinator(t, i.client, ns, nil)
	g := mustAcquire(t, c, request(1))
	elsewhere(t, client, ns)
	const paused = 5100 * time.Millisecond
	began := tickNow()
	acted := i.before(1, `"settles"`, func() {
		eventually(t, "the process is stopped for long", func() bool { return tickNow() > began+paused.Milliseconds() })
	})
	if h, err := c.Renew(within(t), g, g.NotAfter+1); !errors.Is(err, coord.ErrQuarantined) || !acted() {
		t.Errorf("Renew after a loss: %v, %v", h, err)
	}
	if m := metaOf(t, client, ns); m.Floor < began+(paused+redis.MaxHorizon+wide).Milliseconds() {
		t.Errorf("a floor was written that was decided %v before: %+v", paused, m)
	}
}
