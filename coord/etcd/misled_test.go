package etcd_test

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
)

// A run of worker IDs that cannot be granted, longer than what an acquisition looks at
// at a time, keeps nobody from those that can.
func TestPoisonedRun(t *testing.T) {
	t.Parallel()
	const share, poisoned = 100, 70
	server := etcdtest.Start(t)
	ns := rand.Text()
	c := newCoordinator(t, server.Client(t), ns, nil)
	for range poisoned {
		endLease(t, server.Client(t), ns, mustAcquireOf(t, c, share, time.Hour).WorkerID)
	}
	for range share - poisoned { // the next one begins to look where the run begins
		g := mustAcquireOf(t, c, share, 0)
		if err := c.Release(within(t), g, g.NotBefore); err != nil {
			t.Fatal(err)
		}
	}
	for range share - poisoned {
		if g := mustAcquireOf(t, c, share, 0); g.NotBefore > tickNow() {
			t.Errorf("granted was %v, whose window opens later than others", g)
		}
	}
	if g, err := c.Acquire(within(t), request(share)); !errors.Is(err, coord.ErrInvalid) || !strings.Contains(err.Error(), "further ahead than any holder with a right clock") {
		t.Errorf("Acquire with nothing but poisoned worker IDs free: %v, %v", g, err)
	}
}

// mustAcquireOf acquires one of n worker IDs, with a clock that is off.
func mustAcquireOf(t *testing.T, c coord.Coordinator, n int, off time.Duration) coord.Grant {
	t.Helper()
	req := at(off)
	req.Workers.Count = n
	g, err := c.Acquire(within(t), req)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// A retired worker ID whose owner key is gone can be retired again, as the error says.
func TestRetireAgain(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t)
	ns := rand.Text()
	c := newCoordinator(t, server.Client(t), ns, nil)
	if err := c.Init(within(t), space()); err != nil {
		t.Fatal(err)
	}
	if err := c.Retire(within(t), 0); err != nil {
		t.Fatal(err)
	}
	slot := stored(t, server.Client(t), slotKey(ns, 0))
	if _, err := server.Client(t).Delete(within(t), ownerKey(ns, 0)); err != nil {
		t.Fatal(err)
	}
	if g, err := c.Acquire(within(t), request(1)); !errors.Is(err, coord.ErrInvalid) || !strings.Contains(err.Error(), "retire it again") {
		t.Errorf("Acquire without the owner key: %v, %v", g, err)
	}
	if err := c.Retire(within(t), 0); err != nil {
		t.Fatal(err)
	}
	if g, err := c.Acquire(within(t), request(1)); !errors.Is(err, coord.ErrNoWorkerID) {
		t.Errorf("Acquire after it was retired again: %v, %v", g, err)
	}
	if again := stored(t, server.Client(t), slotKey(ns, 0)); again != slot {
		t.Errorf("the slot was %s and is %s", slot, again)
	}
}

// Endpoints of two clusters are a mistake that the error names.
func TestTwoClusters(t *testing.T) {
	t.Parallel()
	a, b := etcdtest.Start(t), etcdtest.Start(t)
	c := newCoordinator(t, etcdtest.Connect(t, []string{a.Endpoint, b.Endpoint}), rand.Text(), nil)
	var g coord.Grant
	var err error
	streamtest.Eventually(t, "both are asked", func() bool {
		g, err = c.Acquire(within(t), request(capacity))
		return err != nil
	})
	for _, part := range []string{"the endpoints belong to different etcd clusters", a.Endpoint, b.Endpoint} {
		if !errors.Is(err, coord.ErrInvalid) || !strings.Contains(err.Error(), part) {
			t.Errorf("Acquire: %v, %v; want an error with %q", g, err, part)
		}
	}
}

// A port on which something else listens is said to be that.
func TestForeignPort(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{
		"Redis": "-ERR unknown command\r\n", "HTTP": "HTTP/1.1 400 Bad Request\r\n\r\n", "nothing": "",
	} {
		addr := drivertest.Answers(t, answer)
		c := newCoordinator(t, etcdtest.Connect(t, []string{addr}), rand.Text(), nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := c.Acquire(ctx, request(capacity))
		if err == nil || !strings.Contains(err.Error(), "is it the port of an etcd for clients?") {
			t.Errorf("%s listens: %v", name, err)
		}
	}
}
