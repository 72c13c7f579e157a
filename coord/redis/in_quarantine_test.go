package redis_test

import (
	"errors"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/redis"
	"github.com/unalike-id/unalike/internal/testserver/redistest"
)

// renewIn renews for a horizon. A request that waited for a processor is made again.
func renewIn(t *testing.T, c *redis.Coordinator, g coord.Grant, horizon time.Duration) (coord.Grant, error) {
	t.Helper()
	var h coord.Grant
	var err error
	eventually(t, "a renewal is in time", func() bool {
		h, err = c.Renew(within(t), g, tickNow()+horizon.Milliseconds())
		return err == nil || !late(err)
	})
	return h, err
}

// newTwo returns two participants of a namespace with short bounds.
func newTwo(t *testing.T, client goredis.UniversalClient, ns string, most, skew time.Duration) (first, second *redis.Coordinator) {
	t.Helper()
	first, second = newCoordinator(t, client, ns, nil), newCoordinator(t, client, ns, nil)
	for _, c := range []*redis.Coordinator{first, second} {
		c.SetMaxHorizon(most)
		c.SetSkewBound(skew)
	}
	return first, second
}

// TestLossInAQuarantine: towards the end of a quarantine, windows are granted and extended
// that reach beyond it. If the server forgets them while the quarantine lasts, that is a
// loss as any other.
func TestLossInAQuarantine(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t, redistest.Options{}).Client(t)
	const most, skew = 10 * time.Second, 500 * time.Millisecond
	ns := newNamespace(t, client, layout)
	holder, other := newTwo(t, client, ns, most, skew)
	elsewhere(t, client, ns)
	mustRelease(t, other, acquireIn(t, other, most))
	nonce, floor := lossOf(t, client, ns)
	eventually(t, "windows reach beyond the quarantine", func() bool { return tickNow()+most.Milliseconds() > floor+1 })
	restore := backup(t, client, ns)
	g := acquireIn(t, holder, most)
	if g.NotAfter <= g.NotBefore || g.NotBefore < floor {
		t.Fatalf("in a quarantine until %d, %v was granted; want a window beyond it", floor, g)
	}
	restore()
	if _, err := renewIn(t, holder, g, most); !errors.Is(err, coord.ErrQuarantined) {
		t.Errorf("Renew of %v, which was lost: %v; want %v", g, err, coord.ErrQuarantined)
	}
	again, to := lossOf(t, client, ns)
	if again == nonce || to < g.NotAfter {
		t.Errorf("the second loss is not on record: the floor is %d, lost was %v", to, g)
	}
	if h := acquireIn(t, other, most); h.NotBefore < to {
		t.Errorf("%v was granted below the floor %d, beside %v", h, to, g)
	}
}

// TestOneQuarantine: the last thing that a holder had was lost just before the loss was
// noticed. It shows that in the quarantine, and is not told that it lasts a second time.
func TestOneQuarantine(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t, redistest.Options{}).Client(t)
	const most, skew = time.Second, 300 * time.Millisecond
	eventually(t, "a holder learns of a loss in its quarantine", func() bool {
		ns := newNamespace(t, client, layout)
		holder, other := newTwo(t, client, ns, most, skew)
		restore := backup(t, client, ns)
		g := acquireIn(t, holder, most)
		restore()
		elsewhere(t, client, ns)
		acquireIn(t, other, most)
		nonce, floor := lossOf(t, client, ns)
		_, err := renewIn(t, holder, g, most)
		if tickNow() > floor {
			return false
		}
		if !errors.Is(err, coord.ErrQuarantined) {
			t.Fatalf("Renew of %v in the quarantine: %v; want %v", g, err, coord.ErrQuarantined)
		}
		eventually(t, "the quarantine is over", func() bool { return tickNow() > floor+1 })
		if _, err = renewIn(t, holder, g, most); !errors.Is(err, coord.ErrLeaseLost) {
			t.Errorf("Renew of %v after the quarantine: %v; want %v", g, err, coord.ErrLeaseLost)
		}
		if again, _ := lossOf(t, client, ns); again != nonce {
			t.Error("there is a second quarantine for one loss")
		}
		return true
	})
}
