package redis_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/redis"
	"github.com/unalike-id/unalike/internal/testserver/redistest"
)

// quarantineTime is how long a quarantine takes for coordinators with a wide skew bound.
const quarantineTime = redis.MaxHorizon + wide

// lossOf returns the loss that a namespace has on record: its name, and its floor.
func lossOf(tb testing.TB, client *goredis.Client, ns string) (nonce string, floor int64) {
	tb.Helper()
	meta := stored(tb, client, ns, "meta")
	m := regexp.MustCompile(`"loss":{"nonce":"([^"]*)","floor":(\d+),`).FindStringSubmatch(meta)
	if m == nil {
		tb.Fatalf("the record of the namespace has no loss: %s", meta)
	}
	floor, err := strconv.ParseInt(m[2], 10, 64)
	if err != nil {
		tb.Fatal(err)
	}
	return m[1], floor
}

// backup returns a function that puts the hash of a namespace back as it is now, in the
// same running server, and ends all leases.
func backup(tb testing.TB, client *goredis.Client, ns string) (restore func()) {
	tb.Helper()
	dump, err := client.Dump(within(tb), slots(ns)).Result()
	if err != nil {
		tb.Fatal(err)
	}
	return func() {
		tb.Helper()
		for id := range 4 {
			endLease(tb, client, ns, id)
		}
		if err := client.RestoreReplace(within(tb), slots(ns), 0, dump).Err(); err != nil {
			tb.Fatal(err)
		}
	}
}

// TestProofOfALoss: a caller shows what the server has forgotten. From then on nothing is
// granted or extended below the end of what was lost, once and not again.
func TestProofOfALoss(t *testing.T) {
	client := redistest.Start(t, redistest.Options{}).Client(t)
	renew := func(t *testing.T, c *redis.Coordinator, g coord.Grant) error {
		t.Helper()
		_, err := c.Renew(within(t), g, g.NotAfter+1000)
		return err
	}
	release := func(t *testing.T, c *redis.Coordinator, g coord.Grant) error {
		t.Helper()
		return c.Release(within(t), g, g.NotAfter)
	}
	acquire := func(t *testing.T, c *redis.Coordinator, _ coord.Grant) error {
		t.Helper()
		_, err := c.Acquire(within(t), request(1))
		return err
	}
	// Each gets a grant of worker ID 0 and makes the server forget it.
	again := func(t *testing.T, c *redis.Coordinator, ns string) coord.Grant {
		t.Helper()
		g := mustAcquire(t, c, request(1))
		restore := backup(t, client, ns)
		mustRelease(t, c, g)
		g = mustAcquire(t, c, request(1))
		restore()
		return g
	}
	sameGeneration := func(t *testing.T, c *redis.Coordinator, ns string) coord.Grant {
		t.Helper()
		restore := backup(t, client, ns)
		g := mustAcquire(t, c, request(1))
		restore()
		mustAcquire(t, newCoordinator(t, client, ns, nil), request(1))
		return g
	}
	extended := func(t *testing.T, c *redis.Coordinator, ns string) coord.Grant {
		t.Helper()
		g := mustAcquire(t, c, request(1))
		restore := backup(t, client, ns)
		g, err := c.Renew(within(t), g, g.NotAfter+5000)
		if err != nil {
			t.Fatal(err)
		}
		restore()
		return g
	}
	madeAgain := func(t *testing.T, c *redis.Coordinator, ns string) coord.Grant {
		t.Helper()
		g := mustAcquire(t, c, request(1))
		client.Del(within(t), slots(ns), leaseKey(ns, 0))
		operator := newCoordinator(t, client, ns, nil)
		if err := operator.Init(within(t), space()); err != nil {
			t.Fatal(err)
		}
		mustRelease(t, operator, mustAcquire(t, operator, request(1)))
		mustAcquire(t, operator, request(1))
		return g
	}
	for name, tc := range map[string]struct {
		lose func(*testing.T, *redis.Coordinator, string) coord.Grant
		show func(*testing.T, *redis.Coordinator, coord.Grant) error
		// alone: by the grant, without what the process knows besides.
		alone bool
	}{
		"generation, renewal":                 {again, renew, true},
		"generation, release":                 {again, release, true},
		"generation, acquisition":             {again, acquire, false},
		"same generation of another, renewal": {sameGeneration, renew, true},
		"same generation of another, release": {sameGeneration, release, true},
		"end of the window, renewal":          {extended, renew, true},
		"end of the window, release":          {extended, release, true},
		"namespace made again, renewal":       {madeAgain, renew, true},
		"namespace made again, release":       {madeAgain, release, true},
		"namespace made again, acquisition":   {madeAgain, acquire, false},
	} {
		t.Run(name, func(t *testing.T) {
			ns := newNamespace(t, client, layout)
			c := newCoordinator(t, client, ns, nil)
			g := tc.lose(t, c, ns)
			if tc.alone {
				c = newCoordinator(t, client, ns, nil)
			}
			before, _ := lossOf(t, client, ns)
			least := tickNow() + quarantineTime.Milliseconds()
			err := tc.show(t, c, g)
			nonce, floor := lossOf(t, client, ns)
			if nonce == before || floor < least || floor > least+patience.Milliseconds() {
				t.Fatalf("%v was shown, with the answer %v; the loss on record is %q, with the floor %d; want a new one, from %d on", g, err, nonce, floor, least)
			}
			other := newCoordinator(t, client, ns, nil)
			if h := mustAcquire(t, other, request(2)); h.NotBefore < floor || h.NotAfter > h.NotBefore {
				t.Errorf("after the loss, %v was granted; the floor is %d", h, floor)
			}
			err = tc.show(t, c, g)
			if again, _ := lossOf(t, client, ns); again != nonce {
				t.Errorf("shown again, with the answer %v, the loss is another one", err)
			}
		})
	}
}

// TestNoProof: what holders show without a loss raises no floor: a grant that was
// released, one that another holder has had since, one that is retired; an old message
// that the network repeats.
func TestNoProof(t *testing.T) {
	client := redistest.Start(t, redistest.Options{}).Client(t)
	ns := newNamespace(t, client, layout)
	c := newCoordinator(t, client, ns, nil)
	old := mustAcquire(t, c, request(1))
	g, err := c.Renew(within(t), old, old.NotAfter+1000)
	if err != nil {
		t.Fatal(err)
	}
	show := func(when, says string) {
		t.Helper()
		for _, g := range []coord.Grant{old, g} {
			if _, err := c.Renew(within(t), g, g.NotAfter); !errors.Is(err, coord.ErrLeaseLost) || !strings.Contains(err.Error(), says) {
				t.Errorf("%s: Renew of %v: %v; want %v, and %q", when, g, err, coord.ErrLeaseLost, says)
			}
			if err := c.Release(within(t), g, g.NotAfter); !errors.Is(err, coord.ErrLeaseLost) {
				t.Errorf("%s: Release of %v: %v; want %v", when, g, err, coord.ErrLeaseLost)
			}
		}
		if nonce, floor := lossOf(t, client, ns); nonce != "" || floor != 0 {
			t.Errorf("%s: there is a loss on record, with the floor %d", when, floor)
		}
	}
	if _, err := c.Renew(within(t), old, old.NotAfter); err != nil {
		t.Errorf("an old renewal: %v", err)
	}
	mustRelease(t, c, g)
	show("released", "it was released")
	h := mustAcquire(t, c, request(1))
	show("another has it", "has it since")
	mustRelease(t, c, h)
	show("another had it", "another holder has had it since, and has released it")
	if err := c.Retire(within(t), 0); err != nil {
		t.Fatal(err)
	}
	show("retired", "was retired")
}

// TestPassedOnInAQuarantine: also while windows are waited out that were forgotten, a
// holder whose worker ID another one has had since has lost it.
func TestPassedOnInAQuarantine(t *testing.T) {
	client := redistest.Start(t, redistest.Options{}).Client(t)
	ns := newNamespace(t, client, layout)
	c := newCoordinator(t, client, ns, nil)
	old := mustAcquire(t, c, request(1))
	endLease(t, client, ns, 0)
	g := mustAcquire(t, c, request(1))
	elsewhere(t, client, ns)
	if _, err := c.Renew(within(t), g, g.NotAfter+1000); !errors.Is(err, coord.ErrQuarantined) {
		t.Fatalf("Renew after a loss: %v; want %v", err, coord.ErrQuarantined)
	}
	if _, err := c.Renew(within(t), old, old.NotAfter+1000); !errors.Is(err, coord.ErrLeaseLost) {
		t.Errorf("Renew of %v, after which %v was granted: %v; want %v", old, g, err, coord.ErrLeaseLost)
	}
}

// elsewhere makes a namespace one that another server has left.
func elsewhere(tb testing.TB, client *goredis.Client, ns string) {
	tb.Helper()
	store(tb, client, ns, "meta", regexp.MustCompile(`"lineage":"[^"]*"`).ReplaceAllString(stored(tb, client, ns, "meta"), `"lineage":"elsewhere-1"`))
}

// TestStragglers: a loss is dealt with, and its quarantine over, when a holder comes that
// was granted something before it. That raises no floor. One that shows what was granted
// after it does: the record of the loss came back with a backup.
func TestStragglers(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t, redistest.Options{}).Client(t)
	ns := newNamespace(t, client, layout)
	const most = 300 * time.Millisecond
	straggler, c := newTwo(t, client, ns, most, most)
	late := acquireIn(t, straggler, most)
	restore := backup(t, client, ns)
	mustRelease(t, straggler, late)
	late = acquireIn(t, straggler, most)
	restore()
	elsewhere(t, client, ns)
	seen := tickNow()
	eventually(t, "the loss is found so late that no clocks deceive", func() bool { return tickNow() > seen+2*most.Milliseconds()+1 })
	acquireIn(t, c, most)
	nonce, floor := lossOf(t, client, ns)
	eventually(t, "the quarantine is over", func() bool { return tickNow() > floor+1 })
	restore = backup(t, client, ns)
	if _, err := straggler.Renew(within(t), late, tickNow()+most.Milliseconds()); !errors.Is(err, coord.ErrLeaseLost) {
		t.Errorf("Renew of %v, which was lost: %v; want %v", late, err, coord.ErrLeaseLost)
	}
	late = acquireIn(t, straggler, most)
	if again, _ := lossOf(t, client, ns); again != nonce {
		t.Error("a straggler has raised the floor again")
	}
	restore()
	if _, err := straggler.Renew(within(t), late, tickNow()+most.Milliseconds()); !errors.Is(err, coord.ErrQuarantined) {
		t.Errorf("Renew of %v, which a second loss has taken: %v; want %v", late, err, coord.ErrQuarantined)
	}
	if again, floor := lossOf(t, client, ns); again == nonce || floor < late.NotAfter {
		t.Errorf("the second loss is not on record: floor %d, lost is %v", floor, late)
	}
}

// acquireIn acquires with a horizon. A request that waited for a processor is made again.
func acquireIn(t *testing.T, c *redis.Coordinator, horizon time.Duration) (g coord.Grant) {
	t.Helper()
	eventually(t, "a request is in time", func() bool {
		req := request(4)
		req.Until = req.Now + horizon.Milliseconds()
		var err error
		if g, err = c.Acquire(within(t), req); err != nil && !late(err) {
			t.Fatal(err)
		}
		return err == nil
	})
	return g
}

// TestSecondLoss: another loss never shortens what an operator or the loss before it has
// asked for.
func TestSecondLoss(t *testing.T) {
	client := redistest.Start(t, redistest.Options{}).Client(t)
	far := tickNow() + time.Hour.Milliseconds()
	for name, before := range map[string]func(*redis.Coordinator, string) error{
		"operator": func(c *redis.Coordinator, _ string) error {
			_, err := c.Quarantine(within(t), time.UnixMicro(scale().Micro(far)))
			return err
		},
		"loss": func(_ *redis.Coordinator, ns string) error {
			store(t, client, ns, "meta", strings.Replace(stored(t, client, ns, "meta"),
				`"loss":{"nonce":"","floor":0,`, fmt.Sprintf(`"loss":{"nonce":"x","floor":%d,`, far), 1))
			return nil
		},
	} {
		ns := newNamespace(t, client, layout)
		c := newCoordinator(t, client, ns, nil)
		if err := before(c, ns); err != nil {
			t.Fatal(err)
		}
		elsewhere(t, client, ns)
		if g := mustAcquire(t, c, request(1)); g.NotBefore < far {
			t.Errorf("%s: %v was granted; the floor was %d before the loss", name, g, far)
		}
	}
}

// TestForgottenFloor: a process that knows a floor which the server has forgotten raises
// it again.
func TestForgottenFloor(t *testing.T) {
	client := redistest.Start(t, redistest.Options{}).Client(t)
	ns := newNamespace(t, client, layout)
	c := newCoordinator(t, client, ns, nil)
	far := tickNow() + time.Hour.Milliseconds()
	if _, err := c.Quarantine(within(t), time.UnixMicro(scale().Micro(far))); err != nil {
		t.Fatal(err)
	}
	client.FlushAll(within(t))
	if g := mustAcquire(t, c, request(1)); g.NotBefore < far {
		t.Errorf("%v was granted; the floor was %d before the loss", g, far)
	}
	if floor, err := c.Lower(within(t)); err != nil || scale().Tick(floor.UnixMicro()) < far {
		t.Errorf("Lower: %v, %v; somebody has asked for %d", floor, err, far)
	}
}

// TestForgottenFloorOfANewNamespace: everything is lost, and a process that knows nothing makes
// the namespace again, with a loss on record. One that knows of an operator's floor puts that
// back all the same.
func TestForgottenFloorOfANewNamespace(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	client := server.Client(t)
	ns := newNamespace(t, client, layout)
	c := newCoordinator(t, client, ns, nil)
	g := mustAcquire(t, c, request(4))
	if _, err := newCoordinator(t, client, ns, nil).Quarantine(within(t), time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Renew(within(t), g, g.NotAfter+1); !errors.Is(err, coord.ErrQuarantined) { // it sees that
		t.Fatal(err)
	}
	before, err := c.Inspect(within(t))
	if err != nil || before.Base.IsZero() {
		t.Fatal(before, err)
	}
	server.Do(t, "FLUSHALL")
	mustAcquire(t, newCoordinator(t, client, ns, nil), request(4))
	for range 2 {
		if _, err := c.Renew(within(t), g, g.NotAfter+1); !errors.Is(err, coord.ErrQuarantined) {
			t.Errorf("Renew: %v", err)
		}
	}
	if after, err := c.Inspect(within(t)); err != nil || after.Base.Before(before.Base) || after.Floor.Before(before.Floor) {
		t.Errorf("a process knows %+v, and the namespace is %+v, %v", before, after, err)
	}
}

// TestMadeBeforeItsEpoch: a namespace is used before its first tick. That is no damage,
// and what is granted opens with the epoch.
func TestMadeBeforeItsEpoch(t *testing.T) {
	client := redistest.Start(t, redistest.Options{}).Client(t)
	ns := rand.Text()
	c := newCoordinator(t, client, ns, nil)
	req := request(2)
	req.Scale.Epoch = time.Now().Add(time.Hour).UnixMilli() * 1000
	req.Now = req.Scale.Tick(time.Now().UnixMicro())
	req.Until, req.OpenBy = req.Now+10_000, req.Now
	for range 2 {
		req.Token = rand.Text()
		g, err := c.Acquire(within(t), req)
		if err != nil || g.NotBefore != 0 || g.NotAfter != 0 {
			t.Fatalf("Acquire before the epoch: %v, %v", g, err)
		}
		if g, err = c.Renew(within(t), g, req.Until); err != nil && !errors.Is(err, coord.ErrQuarantined) {
			t.Errorf("Renew before the epoch: %v, %v", g, err)
		}
	}
}
