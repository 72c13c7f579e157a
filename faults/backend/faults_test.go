package backend_test

import (
	"context"
	"errors"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/file"
	"github.com/unalike-id/unalike/faults/backend"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/testserver/redistest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
)

// each runs a test for back ends, which must have the faults F.
func each[F any](t *testing.T, test func(t *testing.T, b backend.Backend, f F), names ...string) {
	t.Helper()
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			b := backend.Start(t, name)
			f, ok := b.(F)
			if !ok {
				t.Fatalf("%s is no %T", name, f)
			}
			test(t, b, f)
		})
	}
}

// slots returns what a back end has stored of worker IDs.
func slots(t *testing.T, b backend.Backend, options ...string) []coord.Slot {
	t.Helper()
	c := open(t, b, options...)
	defer c.Close()
	var all []coord.Slot
	streamtest.Eventually(t, "the worker IDs are listed", func() bool {
		var err error
		all, err = c.(coord.Admin).List(streamtest.Within(t))
		return err == nil
	})
	return all
}

// acquire leases a worker ID, by a client that is closed with the test.
func acquire(t *testing.T, b backend.Backend) coord.Grant {
	t.Helper()
	return drivertest.MustAcquire(t, open(t, b), request(drivertest.Capacity))
}

// request is one of a window that every back end has.
func request(n int) coord.Request {
	req := drivertest.Request(n)
	req.Until = req.Now + file.MaxHorizon.Milliseconds()
	return req
}

// A snapshot has what was stored then, every time that it is restored.
func TestSnapshot(t *testing.T) {
	each(t, func(t *testing.T, b backend.Backend, _ backend.Backend) {
		use := func() uint64 { // acquires the only worker ID and releases it
			c := open(t, b)
			defer c.Close()
			var g coord.Grant
			streamtest.Eventually(t, "a worker ID is acquired", func() (ok bool) {
				var err error
				g, err = c.Acquire(streamtest.Within(t), request(1))
				return err == nil
			})
			if err := c.Release(streamtest.Within(t), g, g.NotBefore); err != nil {
				t.Fatal(err)
			}
			return g.Generation
		}
		first := use()
		snapshot := b.Snapshot(t)
		for range 2 {
			if next := use(); next <= first {
				t.Fatalf("generation %d came after %d", next, first)
			}
		}
		for range 2 {
			b.Restore(t, snapshot)
			all := slots(t, b)
			if len(all) != 1 || all[0].Generation != first {
				t.Fatalf("after a rollback to generation %d, these worker IDs are stored: %v", first, all)
			}
		}
	}, names()...)
}

func TestLeader(t *testing.T) {
	each(t, func(t *testing.T, b backend.Backend, e backend.Elected) {
		old := e.Leader(t)
		old.Kill()
		streamtest.Eventually(t, "another one leads", func() bool { return e.Leader(t) != old })
		serves(t, b)
		b.Restart(t)
		serves(t, b)
	}, "etcd3", "zk3", "sentinel")
}

func TestCutOff(t *testing.T) {
	each(t, func(t *testing.T, b backend.Backend, d backend.Divisible) {
		e := b.(backend.Elected)
		old := e.Leader(t)
		d.CutOff(t, old)
		streamtest.Eventually(t, "another one leads", func() bool { return e.Leader(t) != old })
		serves(t, b)
		d.Rejoin(t, old)
		serves(t, b)
	}, "etcd3")
}

// A lease is over whose holder is alive.
func TestEndSessions(t *testing.T) {
	each(t, func(t *testing.T, b backend.Backend, s backend.SessionEnder) {
		g := acquire(t, b)
		if all := slots(t, b); len(all) != 1 || all[0].State != coord.SlotHeld {
			t.Fatalf("after %v was granted, these worker IDs are stored: %v", g, all)
		}
		if n := s.EndSessions(t); n < 1 {
			t.Fatalf("%d sessions were ended", n)
		}
		if all := slots(t, b); len(all) != 1 || all[0].State != coord.SlotFree {
			t.Errorf("after all sessions were ended, these worker IDs are stored: %v", all)
		}
	}, sparing("etcd", "etcd3", "zk", "zk3", "postgres", "mariadb", "kubernetes")...)
}

func TestFlush(t *testing.T) {
	each(t, func(t *testing.T, b backend.Backend, f backend.Flusher) {
		g := acquire(t, b)
		if all := slots(t, b); len(all) != 1 {
			t.Fatalf("after %v was granted, these worker IDs are stored: %v", g, all)
		}
		f.Flush(t)
		if all := slots(t, b); len(all) != 0 {
			t.Errorf("after all was deleted, these worker IDs are stored: %v", all)
		}
	}, "redis", "sentinel", "cluster")
}

// Without space nothing is granted or renewed, which is no loss of the worker ID.
func TestFill(t *testing.T) {
	each(t, func(t *testing.T, b backend.Backend, f backend.Filler) {
		c := open(t, b)
		g := drivertest.MustAcquire(t, c, request(1))
		f.Fill(t)
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		if r, err := c.Renew(ctx, g, g.NotAfter+1); err == nil || errors.Is(err, coord.ErrLeaseLost) {
			t.Errorf("Renew while there is no space: %v, %v", r, err)
		}
		f.Drain(t)
		if _, err := c.Renew(streamtest.Within(t), g, g.NotAfter+1); err != nil {
			t.Errorf("Renew when there is space again: %v", err)
		}
	}, sparing("redis", "sentinel", "cluster", "etcd", "etcd3", "postgres", "mariadb", "kubernetes")...)
}

// What the replica lacks is lost with the primary.
func TestFailover(t *testing.T) {
	each(t, func(t *testing.T, b backend.Backend, r backend.Replicated) {
		write := func(key string) { r.Leader(t).(*redistest.Server).Do(t, "SET", key, 1) }
		has := func(key string) bool {
			n, err := r.Leader(t).(*redistest.Server).Client(t).Exists(streamtest.Within(t), key).Result()
			if err != nil && !errors.Is(err, goredis.Nil) {
				t.Fatal(err)
			}
			return n == 1
		}
		first := r.Leader(t)
		write("kept")
		first.(*redistest.Server).Do(t, "WAIT", 1, callTime.Milliseconds())
		r.Detach(t)
		write("lost")
		r.Failover(t)
		if r.Leader(t) == first || !has("kept") || has("lost") {
			t.Errorf("the primary is the old one: %v; it has what was replicated: %v, and what was not: %v", r.Leader(t) == first, has("kept"), has("lost"))
		}
		serves(t, b)
		second := r.Leader(t)
		b.Restart(t)
		redistest.AwaitLink(t, first.(*redistest.Server))
		r.Detach(t)
		write("lost, too")
		r.SwitchOver(t) // and back, with which what is lost has been on both
		r.SwitchOver(t)
		if r.Leader(t) != second || !has("kept") || has("lost, too") {
			t.Errorf("after a failover and back, the primary is the same: %v; it has what was replicated: %v, and what was not: %v", r.Leader(t) == second, has("kept"), has("lost, too"))
		}
		serves(t, b)
	}, "sentinel")
}

func TestMigrate(t *testing.T) {
	each(t, func(t *testing.T, b backend.Backend, s backend.Sharded) {
		g := acquire(t, b)
		before := s.Owner(t, backend.Namespace)
		for range len(b.Servers()) {
			s.Migrate(t, backend.Namespace)
			if all := slots(t, b); len(all) != 1 || all[0].WorkerID != g.WorkerID {
				t.Errorf("after %v and a migration, these worker IDs are stored: %v", g, all)
			}
		}
		if s.Owner(t, backend.Namespace) != before {
			t.Error("after as many migrations as there are nodes, the namespace is at another one")
		}
		s.Migrate(t, backend.Namespace)
		if s.Owner(t, backend.Namespace) == before {
			t.Error("after a migration, the namespace is at the same node")
		}
	}, "cluster")
}
