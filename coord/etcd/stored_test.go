package etcd_test

import (
	"crypto/rand"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
)

// TestDamagedSlot: a slot that this driver cannot have written is refused with the
// name of its key, and stays as it is.
func TestDamagedSlot(t *testing.T) {
	server := etcdtest.Start(t)
	client := server.Client(t)
	replace := func(old, new string) func(string) string {
		return func(s string) string { return strings.Replace(s, old, new, 1) }
	}
	for name, tc := range map[string]struct {
		spoil func(string) string
		says  string
	}{
		"empty":             {func(string) string { return "" }, "truncated"},
		"truncated":         {func(s string) string { return s[:len(s)/2] }, "truncated"},
		"not JSON":          {func(string) string { return "7" }, "not a JSON object"},
		"another version":   {replace(`"version":1`, `"version":2`), "version 2"},
		"field missing":     {replace(`"generation":1,`, ``), `"generation" is missing`},
		"field unknown":     {replace(`"generation":1,`, `"generation":1,"colour":"red",`), "colour"},
		"field twice":       {replace(`"generation":1,`, `"generation":1,"generation":1,`), "twice"},
		"text for a number": {replace(`"generation":1,`, `"generation":"1",`), "generation"},
		"spaces":            {replace(`,`, `, `), "form"},
		"generation 0":      {replace(`"generation":1`, `"generation":0`), "generation is 0"},
		"another worker":    {replace(`"worker":0`, `"worker":5`), "worker is 5"},
		"negative window":   {replace(`"notBefore":0`, `"notBefore":-1`), "notBefore is -1"},
		"ends early":        {replace(`"notBefore":0`, `"notBefore":2100000000000`), "before it begins"},
		"beyond the layout": {replace(`"lastTick":2199023255551`, `"lastTick":1`), "layout ends at tick 1"},
		"no ttl":            {replace(`"ttl":15000`, `"ttl":0`), "ttl is 0"},
		"another layout":    {replace(`"fingerprint":"41/`, `"fingerprint":"40/`), "layout 40/"},
	} {
		t.Run(name, func(t *testing.T) {
			ns := rand.Text()
			key := "/unalike/" + ns + "/slot/0000000000"
			c := newCoordinator(t, client, ns, nil)
			g := mustAcquire(t, c, request(1))
			if err := c.Release(within(t), g, g.NotBefore+2); err != nil {
				t.Fatal(err)
			}
			bad := tc.spoil(stored(t, client, key))
			if _, err := client.Put(within(t), key, bad); err != nil {
				t.Fatal(err)
			}
			g, err := c.Acquire(within(t), request(1))
			if !errors.Is(err, coord.ErrInvalid) || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("Acquire: %v, %v; want an error that says %q", g, err, tc.says)
			}
			if now := stored(t, client, key); now != bad {
				t.Errorf("the slot was overwritten: %s; it was %s", now, bad)
			}
			// The others are as good as before.
			if g := mustAcquire(t, c, request(2)); g.WorkerID != 1 {
				t.Errorf("%v was granted; the slot of worker ID 0 is damaged", g)
			}
		})
	}
}

// TestDamagedWhileHeld: the holder goes on inside its window, because nothing is
// definite.
func TestDamagedWhileHeld(t *testing.T) {
	server := etcdtest.Start(t)
	client, ns := server.Client(t), rand.Text()
	c := newCoordinator(t, client, ns, nil)
	g := mustAcquire(t, c, request(1))
	if _, err := client.Put(within(t), "/unalike/"+ns+"/slot/0000000000", "{"); err != nil {
		t.Fatal(err)
	}
	if h, err := c.Renew(within(t), g, g.NotAfter+1); !errors.Is(err, coord.ErrInvalid) || errors.Is(err, coord.ErrLeaseLost) {
		t.Errorf("Renew: %v, %v; want %v", h, err, coord.ErrInvalid)
	}
	if err := c.Release(within(t), g, g.NotBefore); !errors.Is(err, coord.ErrInvalid) {
		t.Errorf("Release: %v; want %v", err, coord.ErrInvalid)
	}
}

// TestForeignKeys: what others have put under the namespace is named in the error.
func TestForeignKeys(t *testing.T) {
	server := etcdtest.Start(t)
	client := server.Client(t)
	for key, value := range map[string]string{
		"meta":              `{"version":1}`,
		"owner/0000000000x": "",
		"slot/0000000000":   `{}`, // and no meta
		"owner/0000000001":  "",   // likewise
		"identity/pod-a":    "7",
	} {
		t.Run(key, func(t *testing.T) {
			ns := rand.Text()
			if _, err := client.Put(within(t), "/unalike/"+ns+"/"+key, value); err != nil {
				t.Fatal(err)
			}
			req := request(capacity)
			req.Identity = "pod-a"
			g, err := newCoordinator(t, client, ns, nil).Acquire(within(t), req)
			if !errors.Is(err, coord.ErrInvalid) || !strings.Contains(err.Error(), "/unalike/"+ns+"/") {
				t.Errorf("Acquire with %s = %q stored: %v, %v; want %v that names a key", key, value, g, err, coord.ErrInvalid)
			}
		})
	}
}

// TestPoisonedSlot: a window that a wrong clock has pushed far ahead is not granted
// while there are others, and named when there are none.
func TestPoisonedSlot(t *testing.T) {
	server := etcdtest.Start(t)
	client, ns := server.Client(t), rand.Text()
	c := newCoordinator(t, client, ns, nil)
	g := mustAcquire(t, c, at(10*365*24*time.Hour)) // nobody to compare with
	endLease(t, client, ns, g.WorkerID)
	if g.WorkerID != 0 {
		t.Fatalf("%v was granted first", g)
	}
	for range 5 {
		if h := mustAcquire(t, c, request(6)); h.WorkerID == 0 {
			t.Errorf("%v was granted, with others free", h)
		}
	}
	h, err := c.Acquire(within(t), request(6))
	if !errors.Is(err, coord.ErrInvalid) || !strings.Contains(err.Error(), "worker ID 0") || !strings.Contains(err.Error(), "retire") {
		t.Errorf("Acquire with the poisoned one alone: %v, %v; want an error that says to retire it", h, err)
	}
	if err := c.Retire(within(t), 0); err != nil {
		t.Fatal(err)
	}
	if h, err = c.Acquire(within(t), request(6)); !errors.Is(err, coord.ErrNoWorkerID) {
		t.Errorf("Acquire after it was retired: %v, %v; want %v", h, err, coord.ErrNoWorkerID)
	}
}
