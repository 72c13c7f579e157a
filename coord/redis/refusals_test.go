package redis_test

import (
	"errors"
	"net"
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
	fine := func(err error) {
		if err != nil {
			t.Error(err)
		}
	}
	req := request(2)
	for name, act := range map[string]struct {
		do             func(c *redis.Coordinator, ns string, g coord.Grant) // c is another one
		renew, acquire error                                                // nil: a grant above the floor
	}{
		"another lineage": {func(_ *redis.Coordinator, ns string, _ coord.Grant) { elsewhere(t, client, ns) }, coord.ErrQuarantined, nil},
		"the floor": {func(c *redis.Coordinator, _ string, _ coord.Grant) {
			_, err := c.Quarantine(within(t), time.Now().Add(time.Hour))
			fine(err)
		}, coord.ErrQuarantined, nil},
		"the slot": {func(c *redis.Coordinator, _ string, _ coord.Grant) {
			fine(errors.Join(c.Retire(within(t), 0), c.Retire(within(t), 1)))
		}, coord.ErrLeaseLost, coord.ErrNoWorkerID},
		"the token": {func(c *redis.Coordinator, _ string, _ coord.Grant) { mustAcquire(t, c, req) }, nil, nil},
		"the lease": {func(_ *redis.Coordinator, ns string, g coord.Grant) { redis.EndLease(t, client, ns, g.WorkerID) }, nil, nil},
	} {
		for _, renewal := range []bool{true, false} {
			ns, i := newNamespace(t, client, layout), interrupted(t, server)
			c := newCoordinator(t, i.client, ns, nil)
			g := mustAcquire(t, c, request(2))
			acted := i.before(1, `"write"`, func() { act.do(newCoordinator(t, client, ns, nil), ns, g) })
			var h coord.Grant
			var err error
			want := act.acquire
			if renewal {
				want = act.renew
				h, err = c.Renew(within(t), g, g.NotAfter+1000)
			} else {
				h, err = c.Acquire(within(t), req)
			}
			if floor := metaOf(t, client, ns).Floor; !acted() || !errors.Is(err, want) || err == nil && h.NotBefore < floor {
				t.Errorf("%s, renewal %t: %v, %v with the floor %d; want %v", name, renewal, h, err, floor, want)
			}
		}
	}
	ns, i := newNamespace(t, client, layout), interrupted(t, server)
	acted := i.before(1, `"unused"`, func() { mustAcquire(t, newCoordinator(t, client, ns, nil), request(1)) })
	if err := newCoordinator(t, i.client, ns, nil).Init(within(t), space()); !errors.Is(err, coord.ErrInvalid) || !acted() {
		t.Errorf("a grant comes before the namespace is declared new: %v", err)
	}
	short := shortCoordinator(t, client, newNamespace(t, client, layout))
	_, port, _ := net.SplitHostPort(server.Addr)
	short.SetClocks(map[string]time.Duration{port: 900 * time.Millisecond})
	g := acquireShort(t, short, 1)
	short.SetClocks(nil) // the server's clock is set back
	r, err := short.Renew(within(t), g, g.NotAfter+shortHorizon.Milliseconds())
	if longest := tickNow() + shortHorizon.Milliseconds(); err != nil || r.NotAfter > longest {
		t.Errorf("%v, %v; want it to end at %d at the latest", r, err, longest)
	}
	ns, i = newNamespace(t, client, layout), interrupted(t, server)
	late := newCoordinator(t, i.client, ns, nil)
	elsewhere(t, client, ns)
	const later = 6 * time.Second // than the lineage was seen
	acted = i.before(1, `"match"`, func() { late.SetClocks(map[string]time.Duration{port: later}) })
	from := tickNow() + (later + redis.MaxHorizon + wide).Milliseconds()
	_, err = late.Acquire(within(t), request(2))
	if floor := metaOf(t, client, ns).Floor; !acted() || err != nil || floor < from {
		t.Errorf("%v; the floor is %d; want at least %d", err, floor, from)
	}
}
