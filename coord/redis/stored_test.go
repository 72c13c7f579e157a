package redis_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/testserver/redistest"
)

// slots is the hash of a namespace.
func slots(ns string) string { return "{" + ns + "}:slots" }

// stored returns a field of a namespace's hash.
func stored(tb testing.TB, client *goredis.Client, ns, field string) string {
	tb.Helper()
	v, err := client.HGet(within(tb), slots(ns), field).Result()
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

// store overwrites a field of a namespace's hash.
func store(tb testing.TB, client *goredis.Client, ns, field, value string) {
	tb.Helper()
	if err := client.HSet(within(tb), slots(ns), field, value).Err(); err != nil {
		tb.Fatal(err)
	}
}

// TestDamagedSlot: a slot that this driver cannot have written is refused with its
// name, and stays as it is.
func TestDamagedSlot(t *testing.T) {
	client := redistest.Start(t, redistest.Options{}).Client(t)
	drivertest.DamagedSlots(t, func(t *testing.T) (coord.Coordinator, drivertest.Stored) {
		ns := newNamespace(t, client, layout)
		return newCoordinator(t, client, ns, nil), drivertest.Stored{
			Name: slots(ns),
			Get:  func() string { return stored(t, client, ns, "0") },
			Put:  func(s string) { store(t, client, ns, "0", s) },
		}
	}, map[string]drivertest.Damage{
		"beyond 2^53": {Spoil: drivertest.Replace(`"notBefore":0`, `"notBefore":9007199254740992`), Says: "notBefore"},
		"retired and held": {Spoil: func(s string) string {
			return strings.Replace(strings.Replace(s, `"retired":false`, `"retired":true`, 1), `"token":""`, `"token":"x"`, 1)
		}, Says: "one of them is wrong"},
	})
}

// TestDamagedNamespace: the same for what is stored of the namespace itself.
func TestDamagedNamespace(t *testing.T) {
	client := redistest.Start(t, redistest.Options{}).Client(t)
	for name, spoil := range map[string]func(t *testing.T, ns string){
		"meta": func(t *testing.T, ns string) { t.Helper(); store(t, client, ns, "meta", "{}") },
		"unit 0": func(t *testing.T, ns string) {
			t.Helper()
			store(t, client, ns, "meta", strings.Replace(stored(t, client, ns, "meta"), `"unit":1000`, `"unit":0`, 1))
		},
		"meta missing": func(t *testing.T, ns string) { t.Helper(); client.HDel(within(t), slots(ns), "meta") },
		"gen":          func(t *testing.T, ns string) { t.Helper(); store(t, client, ns, "gen", "7.0") },
		"slots":        func(t *testing.T, ns string) { t.Helper(); client.Set(within(t), slots(ns), "x", 0) },
		"free":         func(t *testing.T, ns string) { t.Helper(); client.Set(within(t), "{"+ns+"}:free", "x", 0) },
	} {
		ns := newNamespace(t, client, layout)
		c := newCoordinator(t, client, ns, nil)
		g := mustAcquire(t, c, request(capacity))
		spoil(t, ns)
		key, _, _ := strings.Cut(name, " ")
		if h, err := c.Acquire(within(t), request(capacity)); !errors.Is(err, coord.ErrInvalid) || !strings.Contains(err.Error(), key) {
			t.Errorf("%s: Acquire: %v, %v", name, h, err)
		}
		if h, err := c.Renew(within(t), g, g.NotAfter); errors.Is(err, coord.ErrLeaseLost) {
			t.Errorf("%s: Renew: %v, %v; what is damaged proves nothing", name, h, err)
		}
	}
}

// TestIndexLost: the indexes are made anew from what is stored, and a lease that was
// deleted ends at once.
func TestIndexLost(t *testing.T) {
	client := redistest.Start(t, redistest.Options{}).Client(t)
	ns := newNamespace(t, client, layout)
	c := newCoordinator(t, client, ns, nil)
	a, b := mustAcquire(t, c, request(4)), mustAcquire(t, c, request(4))
	if err := c.Retire(within(t), 3); err != nil {
		t.Fatal(err)
	}
	mustRelease(t, c, b)
	for _, suffix := range []string{"free:0-3", "held:0-3"} {
		if n, err := client.Del(within(t), "{"+ns+"}:"+suffix).Result(); err != nil || n != 1 {
			t.Fatalf("%d keys with the name %s, %v", n, suffix, err)
		}
		req := request(4)
		g := mustAcquire(t, c, req)
		if g.WorkerID == a.WorkerID || g.WorkerID == 3 {
			t.Errorf("without %s, %v was granted; worker ID %d is held and 3 retired", suffix, g, a.WorkerID)
		}
	}
	var full *coord.NoWorkerIDError
	if _, err := c.Acquire(within(t), request(4)); !errors.As(err, &full) || full.Capacity != 3 || full.InUse != 3 {
		t.Errorf("the fourth of three: %v", err)
	}
	endLease(t, client, ns, a.WorkerID)
	if g := mustAcquire(t, c, request(4)); g.WorkerID != a.WorkerID {
		t.Errorf("%v was granted; only worker ID %d is free", g, a.WorkerID)
	}
	// A lease that somebody made to last for ever holds its worker ID.
	client.Persist(within(t), leaseKey(ns, a.WorkerID))
	client.Del(within(t), "{"+ns+"}:held:0-3")
	if g, err := c.Acquire(within(t), request(4)); !errors.Is(err, coord.ErrNoWorkerID) {
		t.Errorf("Acquire: %v, %v; want %v", g, err, coord.ErrNoWorkerID)
	}
}

// TestHintsAreBounded: no more is stored of identities than there are worker IDs.
func TestHintsAreBounded(t *testing.T) {
	client := redistest.Start(t, redistest.Options{}).Client(t)
	ns := newNamespace(t, client, layout)
	c := newCoordinator(t, client, ns, nil)
	for i := range 20 {
		req := request(2)
		req.Identity = fmt.Sprint("pod-", i)
		mustRelease(t, c, mustAcquire(t, c, req))
	}
	if n, err := client.HLen(within(t), slots(ns)).Result(); err != nil || n != 3+2+2 {
		t.Errorf("%d fields, %v; want meta, gen, shares, 2 slots and 2 identities", n, err)
	}
}

// TestLeaseKeyIsReadable: an operator sees who holds a worker ID, and since when.
func TestLeaseKeyIsReadable(t *testing.T) {
	client := redistest.Start(t, redistest.Options{}).Client(t)
	ns := newNamespace(t, client, layout)
	req := request(1)
	req.Holder = "web-3:\"4711\""
	began := time.Now().Add(-2 * time.Second)
	mustAcquire(t, newCoordinator(t, client, ns, nil), req)
	v, err := client.Get(within(t), leaseKey(ns, 0)).Result()
	if err != nil {
		t.Fatal(err)
	}
	want := `{"token":"` + req.Token + `","holder":"web-3:\"4711\"","since":"`
	since, ok := strings.CutPrefix(v, want)
	at, err := time.Parse(time.RFC3339Nano, strings.TrimSuffix(since, `"}`))
	if !ok || err != nil || at.Before(began) || at.After(time.Now().Add(2*time.Second)) {
		t.Errorf("the lease is %s, %v", v, err)
	}
	left, err := client.PTTL(within(t), leaseKey(ns, 0)).Result()
	if err != nil || left <= 0 || left > req.TTL {
		t.Errorf("the lease lasts for %v, %v; want %v", left, err, req.TTL)
	}
}

// TestRulesAfterALossOfState: a slot may name a grant's token and generation and yet be
// for another window. Two rules look at its NotBefore for that reason.
func TestRulesAfterALossOfState(t *testing.T) {
	client := redistest.Start(t, redistest.Options{}).Client(t)
	ns := newNamespace(t, client, layout)
	c := newCoordinator(t, client, ns, nil)
	g := mustAcquire(t, c, request(1))
	old := g
	old.NotBefore, old.NotAfter = g.NotBefore, g.NotAfter-5000
	// The slot that names the grant now begins above the window that its holder has.
	above := g.NotAfter - 1000
	later := strings.Replace(stored(t, client, ns, "0"), `"notBefore":0`, fmt.Sprintf(`"notBefore":%d`, above), 1)
	store(t, client, ns, "0", later)
	if h, err := c.Renew(within(t), old, g.NotAfter+10); err != nil || h.NotBefore != above || h.NotAfter != g.NotAfter+10 {
		t.Errorf("Renew of %v, the slot beginning at %d: %v, %v", old, above, h, err)
	}
	if h, err := c.Renew(within(t), g, g.NotAfter+20); err != nil || h.NotBefore != g.NotBefore || h.NotAfter != g.NotAfter+20 {
		t.Errorf("Renew of %v, which reaches into the slot: %v, %v", g, h, err)
	}
	if err := c.Release(within(t), old, old.NotAfter); err != nil {
		t.Fatal(err)
	}
	if h := mustAcquire(t, c, request(1)); h.NotBefore != above {
		t.Errorf("released at %d by an old grant, the slot beginning at %d: the next is %v", old.NotAfter, above, h)
	}
}

// TestPoisonedSlot: a window that reaches further ahead than any can have been pushed
// is not given to anybody; the others are.
func TestPoisonedSlot(t *testing.T) {
	client := redistest.Start(t, redistest.Options{}).Client(t)
	ns := newNamespace(t, client, layout)
	c := newCoordinator(t, client, ns, nil)
	g := mustAcquire(t, c, request(1))
	mustRelease(t, c, g)
	far := tickNow() + time.Hour.Milliseconds()
	store(t, client, ns, "0", strings.Replace(stored(t, client, ns, "0"), `"notAfter":0`, fmt.Sprintf(`"notAfter":%d`, far), 1))
	drivertest.PoisonedSlot(t, c)
}

// TestClampedAhead: no request pushes a window further ahead of the server's clock than
// a quarantine waits for.
func TestClampedAhead(t *testing.T) {
	client := redistest.Start(t, redistest.Options{}).Client(t)
	c := newCoordinator(t, client, newNamespace(t, client, layout), nil)
	c.SetMaxHorizon(shortHorizon)
	g := mustAcquire(t, c, shortRequest(1))
	h, err := c.Renew(within(t), g, g.NotAfter+time.Hour.Milliseconds())
	if limit := tickNow() + shortHorizon.Milliseconds(); err != nil || h.NotAfter > limit {
		t.Errorf("Renew an hour ahead: %v, %v; want at most %d", h, err, limit)
	}
	req := shortRequest(2)
	req.Now, req.Until = req.Now+500, req.Until+500 // a clock that is a little ahead
	g = mustAcquire(t, c, req)
	if limit := tickNow() + shortHorizon.Milliseconds(); g.NotAfter > limit {
		t.Errorf("Acquire with a clock that is ahead: %v; want at most %d", g, limit)
	}
}

// TestIdentityIsHeld: a process that comes with the identity of one that lives gets
// another worker ID, although the window of the first would end in time.
func TestIdentityIsHeld(t *testing.T) {
	client := redistest.Start(t, redistest.Options{}).Client(t)
	c := newCoordinator(t, client, newNamespace(t, client, layout), nil)
	first, second := request(2), request(2)
	first.Identity, second.Identity = "pod-a", "pod-a"
	g := mustAcquire(t, c, first)
	second.OpenBy = g.NotAfter + 1
	if h := mustAcquire(t, c, second); h.WorkerID == g.WorkerID {
		t.Errorf("%v is held, and %v was granted", g, h)
	}
}

// TestHintBehindMany: a lease that was deleted is found by the identity that held it,
// behind more leases than an acquisition looks at.
func TestHintBehindMany(t *testing.T) {
	const many = 20
	client := redistest.Start(t, redistest.Options{}).Client(t)
	ns := newNamespace(t, client, layout)
	c := newCoordinator(t, client, ns, nil)
	var last coord.Grant
	for i := range many {
		req := request(many)
		req.Identity = fmt.Sprint("pod-", i)
		req.TTL += time.Duration(i) * time.Minute // the last one's lease ends last
		last = mustAcquire(t, c, req)
	}
	endLease(t, client, ns, last.WorkerID)
	if g, err := c.Acquire(within(t), request(many)); !errors.Is(err, coord.ErrNoWorkerID) {
		t.Errorf("Acquire without a hint: %v, %v; this test proves nothing if it is found", g, err)
	}
	req := request(many)
	req.Identity = fmt.Sprint("pod-", many-1)
	if g := mustAcquire(t, c, req); g.WorkerID != last.WorkerID {
		t.Errorf("%v was granted; only worker ID %d is to be had", g, last.WorkerID)
	}
}

// TestHolderIsQuoted: what a holder calls itself reaches no terminal as it is.
func TestHolderIsQuoted(t *testing.T) {
	client := redistest.Start(t, redistest.Options{}).Client(t)
	c := newCoordinator(t, client, newNamespace(t, client, layout), nil)
	req := request(1)
	req.Holder = "web-3\x1b[31m"
	other := mustAcquire(t, c, request(1))
	mustRelease(t, c, other)
	mustAcquire(t, c, req)
	_, err := c.Renew(within(t), other, other.NotAfter)
	if !errors.Is(err, coord.ErrLeaseLost) || strings.Contains(err.Error(), "\x1b") || !strings.Contains(err.Error(), `"web-3\x1b[31m"`) {
		t.Errorf("Renew of a grant that another holder has: %q; want its name, quoted", err)
	}
}
