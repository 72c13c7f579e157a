package redis_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord/redis"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/safetytest"
	"github.com/unalike-id/unalike/internal/testserver/fulltest"
	"github.com/unalike-id/unalike/internal/testserver/proctest"
	"github.com/unalike-id/unalike/internal/testserver/redistest"
)

// openDurable opens a namespace of a server that is declared durable.
func openDurable(t *testing.T, s *redistest.Server, ns string) protocol.Full {
	t.Helper()
	c, err := open(t, "redis://"+s.Addr+"?skew=20s&durable=require&namespace="+ns)
	if err != nil {
		t.Fatal(err)
	}
	return c.(protocol.Full)
}

// TestDurable_RestartIsNoLoss: a durable server that restarts with its file has lost nothing.
// Newcomers begin above the windows of which the file may know nothing. If it is an old one, a
// holder notices that.
func TestDurable_RestartIsNoLoss(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, redistest.Options{AppendOnly: true})
	client := s.Client(t)
	ns := newNamespace(t, client, layout)
	c := openDurable(t, s, ns)
	g := mustAcquire(t, c, request(2))
	restart := func(dir string) {
		t.Helper()
		s.Kill()
		if dir != "" {
			if err := os.RemoveAll(filepath.Join(s.Dir, "appendonlydir")); err != nil {
				t.Fatal(err)
			}
			proctest.Copy(t, dir, filepath.Join(s.Dir, "appendonlydir"))
		}
		s.Restart(t)
		eventually(t, "the file is loaded", func() bool { return client.Ping(within(t)).Err() == nil })
	}
	for range 2 {
		restart("")
		h, err := c.Renew(within(t), g, g.NotAfter+100)
		if err != nil || h.NotBefore != g.NotBefore || h.NotAfter != g.NotAfter+100 {
			t.Fatalf("Renew of %v after a restart: %v, %v; nothing was lost", g, h, err)
		}
		g = h
	}
	if m := metaOf(t, client, ns); m.Loss.Nonce != "" || m.Floor != 0 {
		t.Errorf("there is a loss on record: %+v", m)
	}
	newcomer := openDurable(t, s, ns)
	n := mustAcquire(t, newcomer, request(2))
	if least := g.NotAfter + redis.MaxHorizon.Milliseconds() - 10_000; n.NotBefore < least {
		safetytest.Of(t).Errorf("after a restart a newcomer gets %v; want %d at least", n, least)
	}

	old := filepath.Join(t.TempDir(), "old")
	proctest.Copy(t, filepath.Join(s.Dir, "appendonlydir"), old)
	g, err := c.Renew(within(t), g, g.NotAfter+100)
	if err != nil {
		t.Fatal(err)
	}
	restart(old)
	if h, err := c.Renew(within(t), g, g.NotAfter+100); err == nil && h.NotBefore == g.NotBefore {
		safetytest.Of(t).Errorf("Renew of %v with an old file: %v", g, h)
	}
	if m := metaOf(t, client, ns); m.Loss.Nonce == "" || m.Floor < g.NotAfter {
		safetytest.Of(t).Errorf("%v was lost, and the namespace is %+v", g, m)
	}
}

// TestDurable_FailoverIsALoss: a replica of a durable server may lack what the server confirmed.
func TestDurable_FailoverIsALoss(t *testing.T) {
	t.Parallel()
	o := redistest.Options{AppendOnly: true, Args: []string{"--repl-diskless-sync-delay", "0"}}
	s, replica := redistest.Start(t, o), redistest.Start(t, o)
	ns := newNamespace(t, s.Client(t), layout)
	follow(t, replica, s.Addr)
	g := mustAcquire(t, openDurable(t, s, ns), request(1))
	s.Do(t, "WAIT", 1, callTime.Milliseconds())
	replica.Do(t, "REPLICAOF", "NO", "ONE")
	if h, err := openDurable(t, replica, ns).Renew(within(t), g, g.NotAfter+1); err == nil &&
		h.NotBefore == g.NotBefore {
		safetytest.Of(t).Errorf("Renew of %v after a failover: %v", g, h)
	}
}

// TestDurable_Refused: a server that does not keep what it confirms, and several servers.
func TestDurable_Refused(t *testing.T) {
	t.Parallel()
	volatile := redistest.Start(t, redistest.Options{})
	everysec := redistest.Start(t, redistest.Options{Args: []string{"--appendonly", "yes"}})
	for server, says := range map[*redistest.Server]string{
		volatile: "appendonly no", everysec: "appendfsync everysec",
	} {
		_, err := openDurable(t, server, "ns").Acquire(within(t), request(1))
		drivertest.WantInvalid(t, "Acquire", err, says)
	}
	// A user who may not read CONFIG.
	everysec.Do(t, "ACL", "SETUSER", "app", "on", ">pw", "~*", "+@all", "-config")
	c, err := open(t, "redis://app:pw@"+everysec.Addr+"?durable=require&namespace=ns")
	if err != nil {
		t.Fatal(err)
	}
	mustAcquire(t, c, request(1))
	drivertest.BadURLs(t, map[string]string{
		"redis://h?namespace=ns&durable=yes":             "option durable is \"yes\"",
		"redis-cluster://h?namespace=ns&durable=require": "unknown option \"durable\"",
	})
}

// errorLog collects messages of level ERROR.
type errorLog struct {
	slog.Handler
	t *testing.T
}

func (l errorLog) Handle(_ context.Context, r slog.Record) error {
	if r.Level >= slog.LevelError && strings.Contains(r.Message, "lost") {
		l.t.Errorf("logged: %s", r.Message)
	}
	return nil
}

// TestDurable_NoGap: a generator goes on while a durable server restarts. If the server is away for
// longer than the window, IDs are missing for that time and at most a second more.
func TestDurable_NoGap(t *testing.T) {
	fulltest.Long(t, "it waits until a window has ended")
	t.Parallel()
	s := redistest.Start(t, redistest.Options{AppendOnly: true})
	ns := newNamespace(t, s.Client(t), layout)
	log := slog.New(errorLog{slog.NewTextHandler(t.Output(), nil), t})
	g, err := core.New(t.Context(), openDurable(t, s, ns), core.Config{Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = g.Close(within(t)) }()
	s.Kill()
	time.Sleep(2 * time.Second)
	s.Restart(t)
	for began := time.Now(); time.Since(began) < 40*time.Second; time.Sleep(time.Millisecond) {
		if _, err := g.Next(); err != nil {
			t.Fatalf("%v after a restart: %v", time.Since(began), err)
		}
	}
	s.Kill()
	eventually(t, "the window has ended", func() bool { _, err := g.Next(); return err != nil })
	time.Sleep(2 * time.Second)
	s.Restart(t)
	served := time.Now()
	if _, err := g.NextContext(within(t)); err != nil {
		t.Fatal(err)
	}
	if gap := time.Since(served); gap > 2*time.Second { // a second, and one for a busy machine
		t.Errorf("there were no IDs for %v after the server was back", gap)
	}
	t.Logf("IDs were back %v after the server", time.Since(served))
}
