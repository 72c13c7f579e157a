package zk_test

import (
	"crypto/rand"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/zk"
	"github.com/unalike-id/unalike/internal/testserver/zktest"
)

// TestRoundTrips counts the round trips of an acquisition, with nothing held and with
// nearly everything held, with and without an identity and credentials. The handshake
// is one of them.
func TestRoundTrips(t *testing.T) {
	server := zktest.Start(t, zktest.Options{})
	proxy := zktest.StartProxy(t, server.Addr)
	for _, held := range []int{0, 1000} {
		ns := rand.Text()
		opts := zk.Options{User: "ann", Password: "secret"}
		acquireMany(t, []*zk.Coordinator{newCoordinator(t, []string{server.Addr}, ns, &opts)}, max(held, 1), 32)
		c := newCoordinator(t, []string{proxy.Addr}, ns, &opts)
		for _, identity := range []string{"", "pod-a"} {
			// A busy machine can only make it more, so the least counts.
			least := 100
			for range 8 {
				req := request(capacity)
				req.Identity = identity
				proxy.Measure(50 * time.Millisecond)
				g := mustAcquire(t, c, req)
				least = min(least, proxy.Waves())
				proxy.Measure(0)
				if err := c.Release(within(t), g, g.NotBefore); err != nil {
					t.Fatal(err)
				}
				if least <= 4 {
					break
				}
			}
			t.Logf("%d held, identity %q: %d round trips", held, identity, least)
			if least > 4 {
				t.Errorf("%d held, identity %q: %d round trips; at most 4 are allowed", held, identity, least)
			}
		}
	}
}

// TestStarters: 1024 holders start at once on 1024 worker IDs, each with a connection
// of its own.
func TestStarters(t *testing.T) {
	server := zktest.Start(t, zktest.Options{})
	ns := rand.Text()
	var crowd []*zk.Coordinator
	log := slog.New(slog.NewTextHandler(complaints{t}, &slog.HandlerOptions{Level: slog.LevelWarn}))
	for range 16 {
		crowd = append(crowd, newCoordinator(t, []string{server.Addr}, ns, &zk.Options{Logger: log}))
	}
	began := time.Now()
	acquireMany(t, crowd, capacity, capacity)
	took := time.Since(began)
	t.Logf("%d starters: %v", capacity, took)

	began = time.Now()
	_, err := crowd[0].Acquire(within(t), request(capacity))
	took = time.Since(began)
	var full *coord.NoWorkerIDError
	switch {
	case !errors.As(err, &full) || !errors.Is(err, coord.ErrNoWorkerID):
		t.Fatalf("one starter more: %v; want a NoWorkerIDError", err)
	case full.Capacity != capacity || full.InUse != capacity || full.Namespace != ns:
		t.Errorf("one starter more: %#v; want all %d worker IDs of %s in use", full, capacity, ns)
	case full.Soonest.Before(began) || full.Soonest.After(time.Now().Add(long)):
		t.Errorf("one starter more: the next worker ID is free at %v; it was %v then, and the TTL is %v", full.Soonest, began, long)
	}
	t.Logf("one starter more: refused after %v: %v", took, err)
}

// complaints fails a test in which there is nothing to complain of.
type complaints struct{ t *testing.T }

func (c complaints) Write(b []byte) (int, error) {
	c.t.Errorf("it was logged: %s", b)
	return len(b), nil
}

// long is the TTL of what many starters hold: on a slow machine, too, all of it is still
// held when the last of them has started.
const long = 2 * callTime

// acquireMany lets n holders acquire, so many at once, spread over the coordinators,
// and checks that no worker ID is held twice.
func acquireMany(t *testing.T, crowd []*zk.Coordinator, n, atOnce int) {
	t.Helper()
	ctx := within(t)
	ids, errs := make([]int, n), make([]error, n)
	places := make(chan struct{}, atOnce)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			req := request(capacity)
			req.TTL = long
			g, err := crowd[i%len(crowd)].Acquire(ctx, req)
			// Where a thousand start at once on a slow machine, a request can be so old when
			// it arrives that it looks like that of a clock which is behind.
			for err != nil && (!coord.Permanent(err) || errors.Is(err, coord.ErrClockSkew)) && ctx.Err() == nil {
				token := req.Token
				req = request(capacity)
				req.Token, req.TTL = token, long
				g, err = crowd[i%len(crowd)].Acquire(ctx, req)
			}
			ids[i], errs[i] = g.WorkerID, err
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			t.Fatalf("one of %d starters: %v", n, err)
		}
	}
	slices.Sort(ids)
	if unique := len(slices.Compact(ids)); unique != n {
		t.Fatalf("%d starters hold %d different worker IDs", n, unique)
	}
}

// TestContention: of many who want a few worker IDs, as many get one as there are.
func TestContention(t *testing.T) {
	server := zktest.Start(t, zktest.Options{})
	c := newCoordinator(t, []string{server.Addr}, rand.Text(), nil)
	const starters, free = 64, 16
	ctx := within(t)
	ids, errs := make([]int, starters), make([]error, starters)
	var wg sync.WaitGroup
	for i := range starters {
		wg.Go(func() {
			req := request(free)
			req.TTL = long                    // nobody's ends before all have started
			req.Identity = "the-same-for-all" // so that all have the same hint
			g, err := c.Acquire(ctx, req)
			ids[i], errs[i] = g.WorkerID, err
		})
	}
	wg.Wait()
	seen := map[int]bool{}
	for i, err := range errs {
		switch {
		case err == nil && seen[ids[i]]:
			t.Errorf("worker ID %d is held twice", ids[i])
		case err == nil:
			seen[ids[i]] = true
		case !errors.Is(err, coord.ErrNoWorkerID):
			t.Errorf("a starter: %v; want a worker ID or %v", err, coord.ErrNoWorkerID)
		}
	}
	if len(seen) != free {
		t.Errorf("%d worker IDs are held; want %d", len(seen), free)
	}
}

// TestNodesOfTheDead: what a session has made is gone when it ends, and nothing of it
// stays but the slot and the identity's hint.
func TestNodesOfTheDead(t *testing.T) {
	server := zktest.Start(t, zktest.Options{})
	ns, o := rand.Text(), newOperator(t, []string{server.Addr})
	c := newCoordinator(t, []string{server.Addr}, ns, nil)
	req := request(1)
	req.Identity = "pod/a ☃" // ZooKeeper would take none of these
	g := mustAcquire(t, c, req)
	endSession(t, o, server, ns, g.WorkerID)
	for name, want := range map[string]int{"owners": 0, "tokens": 0, "slots": 1, "identities": 1} {
		names, _, err := o.Children(spacePath(ns) + "/" + name)
		if err != nil || len(names) != want {
			t.Errorf("%s has %v, %v; want %d", name, names, err, want)
		}
	}
}

// TestCloseReleasesNothing: a coordinator that is closed leaves its sessions to their TTL,
// and with them what they hold.
func TestCloseReleasesNothing(t *testing.T) {
	server := zktest.Start(t, zktest.Options{})
	ns, o := rand.Text(), newOperator(t, []string{server.Addr})
	c := newCoordinator(t, []string{server.Addr}, ns, nil)
	req := request(1)
	req.TTL = time.Minute
	g := mustAcquire(t, c, req)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if o.owner(t, ns, g.WorkerID) == 0 {
		t.Errorf("%v is not held any more", g)
	}
}

// TestStaleSurvey: the floor is raised after an acquisition has read it and before it
// grants.
func TestStaleSurvey(t *testing.T) {
	t.Parallel()
	r := newRobbed(t)
	direct := newCoordinator(t, []string{r.server.Addr}, r.namespace, nil)
	var floor time.Time
	r.Before(zktest.OpMulti, func() {
		var err error
		if floor, err = direct.Quarantine(within(t), time.Time{}); err != nil {
			t.Error(err)
		}
	})
	g := mustAcquire(t, r, request(1))
	if floor.IsZero() || g.NotBefore < scale().Tick(floor.UnixMicro()) {
		t.Errorf("the floor is at %v, and %v was granted", floor, g)
	}
}

// TestStaleHint: the worker ID that the identity had last is somebody else's, or opens
// late. It is no more than the first to be looked at.
func TestStaleHint(t *testing.T) {
	server := zktest.Start(t, zktest.Options{})
	o := newOperator(t, []string{server.Addr})
	for _, share := range []int{1, 2} {
		ns := rand.Text()
		c := newCoordinator(t, []string{server.Addr}, ns, nil)
		mine := request(1)
		mine.Identity = "pod-a"
		g := mustAcquire(t, c, mine)
		if err := c.Release(within(t), g, g.NotBefore); err != nil {
			t.Fatal(err)
		}
		theirs := request(1)
		theirs.Identity = "pod-b"
		h := mustAcquire(t, c, theirs)
		endSession(t, o, server, ns, h.WorkerID) // their window reaches into the future
		mine = request(share)
		mine.Identity = "pod-a"
		i := mustAcquire(t, c, mine)
		if share == 1 && (i.WorkerID != h.WorkerID || i.NotBefore != h.NotAfter || i.Generation != 3) {
			t.Errorf("after %v the only worker ID was granted as %v", h, i)
		}
		if share == 2 && i.WorkerID == h.WorkerID {
			t.Errorf("%v opens late and was granted all the same, with the other worker ID free", i)
		}
	}
}
