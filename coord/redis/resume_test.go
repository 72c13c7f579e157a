package redis_test

import (
	"crypto/rand"
	"errors"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/testserver/redistest"
)

// bare is a grant as it comes out of a file: without its handle.
func bare(g coord.Grant) coord.Grant {
	g.Handle = nil
	return g
}

// TestCostOfHolding: what a holder asks for is one call each.
func TestCostOfHolding(t *testing.T) {
	client := redistest.Start(t, redistest.Options{}).Client(t)
	c := newCoordinator(t, client, newNamespace(t, client, layout), nil)
	g := mustAcquire(t, c, request(1))
	step := func(g coord.Grant, err error) coord.Grant {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	g = step(c.Resume(within(t), bare(g), rand.Text(), g.NotAfter+1)) // makes the script known
	count := new(trips)
	client.AddHook(count)
	for what, call := range map[string]func(){
		"Renew":  func() { g = step(c.Renew(within(t), g, g.NotAfter+1)) },
		"Resume": func() { g = step(c.Resume(within(t), bare(g), rand.Text(), g.NotAfter+1)) },
	} {
		before := count.n.Load()
		call()
		if n := count.n.Load() - before; n != 1 {
			t.Errorf("%s made %d calls; want 1", what, n)
		}
	}
}

// TestHandleTellsNonce: who has a grant knows of which namespace it is, without a call.
func TestHandleTellsNonce(t *testing.T) {
	client := redistest.Start(t, redistest.Options{}).Client(t)
	c := newCoordinator(t, client, newNamespace(t, client, layout), nil)
	g := mustAcquire(t, c, request(1))
	ns, err := c.Inspect(within(t))
	if err != nil {
		t.Fatal(err)
	}
	if h, ok := g.Handle.(interface{ NamespaceNonce() string }); !ok || ns.Nonce == "" || h.NamespaceNonce() != ns.Nonce {
		t.Errorf("the handle is a %T; the nonce of the namespace is %q", g.Handle, ns.Nonce)
	}
}

// TestResumedToken: the token that a slot is found by is the new one, and so is that in
// the lease's key, which people read.
func TestResumedToken(t *testing.T) {
	client := redistest.Start(t, redistest.Options{}).Client(t)
	ns := newNamespace(t, client, layout)
	c := newCoordinator(t, client, ns, nil)
	g := mustAcquire(t, c, request(1))
	token := rand.Text()
	r, err := c.Resume(within(t), bare(g), token, g.NotAfter+1)
	if err != nil {
		t.Fatal(err)
	}
	fields, err := client.HKeys(within(t), slots(ns)).Result()
	if all := strings.Join(fields, " ") + " "; err != nil || strings.Contains(all, "t:"+g.Token) || !strings.Contains(all, "t:"+token+" ") {
		t.Errorf("%v was resumed as %v, and the fields are %s, %v", g, r, all, err)
	}
	lease, err := client.Get(within(t), leaseKey(ns, 0)).Result()
	if err != nil || !strings.Contains(lease, `{"token":"`+token+`"`) {
		t.Errorf("the lease of what was resumed with token %s is %s, %v", token, lease, err)
	}
	// The lease that was put anew lasts, and the worker ID is held by it.
	if h, err := c.Acquire(within(t), request(1)); !errors.Is(err, coord.ErrNoWorkerID) {
		t.Errorf("%v is held, and %v was granted, %v", r, h, err)
	}
}

// TestResumedGrantIsProof: who has resumed a grant notices that the server has forgotten
// that, as whoever was granted it; and so does a process that has resumed something, by
// whatever else it does.
func TestResumedGrantIsProof(t *testing.T) {
	client := redistest.Start(t, redistest.Options{}).Client(t)
	for name, after := range map[string]func(ns string, restore func()){
		"everything is gone": func(ns string, _ func()) { client.Del(within(t), slots(ns), leaseKey(ns, 0)) },
		"a backup is back":   func(_ string, restore func()) { restore() },
	} {
		for _, what := range []string{"Renew", "Acquire"} {
			t.Run(name+", "+what, func(t *testing.T) {
				ns := newNamespace(t, client, layout)
				c := newCoordinator(t, client, ns, nil)
				g := mustAcquire(t, newCoordinator(t, client, ns, nil), request(1))
				restore := backup(t, client, ns)
				r, err := c.Resume(within(t), bare(g), rand.Text(), g.NotAfter+1)
				if err != nil {
					t.Fatal(err)
				}
				after(ns, restore)
				if what == "Renew" {
					_, err = c.Renew(within(t), r, r.NotAfter+1)
					if !errors.Is(err, coord.ErrQuarantined) {
						t.Errorf("Renew of what was resumed and is forgotten: %v; want %v", err, coord.ErrQuarantined)
					}
				}
				h, err := c.Acquire(within(t), request(1))
				if err == nil && h.NotBefore < r.NotAfter || err != nil && !errors.Is(err, coord.ErrQuarantined) {
					t.Errorf("%v is forgotten, and %v was granted, %v", r, h, err)
				}
				if _, floor := lossOf(t, client, ns); floor < r.NotAfter {
					t.Errorf("%v is forgotten, and the floor is %d", r, floor)
				}
			})
		}
	}
}

// TestLostReplyOnResume: the call fails and says nothing definite, and the next one with
// the same token finds what it has made.
func TestLostReplyOnResume(t *testing.T) {
	t.Parallel()
	c, proxy, _ := behindProxy(t)
	g := mustAcquire(t, c, request(1))
	token := rand.Text()
	proxy.Swallow()
	if h, err := c.Resume(hurried(t), bare(g), token, g.NotAfter+2000); err == nil || errors.Is(err, coord.ErrLeaseLost) {
		t.Fatalf("Resume without a reply: %v, %v; want an error that is not definite", h, err)
	}
	proxy.Heal()
	r, err := c.Resume(within(t), bare(g), token, g.NotAfter+1000)
	if err != nil || r.NotAfter != g.NotAfter+2000 || r.NotBefore != g.NotBefore || r.Generation != g.Generation+1 {
		t.Errorf("Resume of %v until %d after a lost one until %d: %v, %v", g, g.NotAfter+1000, g.NotAfter+2000, r, err)
	}
	if _, err := c.Renew(within(t), g, g.NotAfter+3000); !errors.Is(err, coord.ErrLeaseLost) {
		t.Errorf("Renew of %v, which was resumed: %v", g, err)
	}
}
