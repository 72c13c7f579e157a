package zk

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/testserver/zktest"
)

// TestHolders: each session of a holder has one ephemeral sequential node, which says who has which
// worker ID. One that somebody has deleted is made again.
func TestHolders(t *testing.T) {
	t.Parallel()
	server := zktest.Start(t, zktest.Options{})
	c, err := New([]string{server.Addr}, "orders", Options{})
	c = drivertest.Closing(t, c, err)
	opened, err := liveStore(t, server).Open("token", 15*time.Second, 1)
	if err != nil {
		t.Fatal(err)
	}
	s := opened.(*session)
	s.nodes = newFolder("", "orders")
	holders := func() (all []string, values []string) {
		t.Helper()
		if err := s.together(t.Context(), names(s.nodes.holders(), &all)); err != nil {
			t.Fatal(err)
		}
		for _, name := range all {
			value, stat, err := s.conn.Get(s.nodes.holders() + "/" + name)
			if err != nil || stat.EphemeralOwner == 0 {
				t.Errorf("node %s: %v, %v", name, stat, err)
			}
			values = append(values, string(value))
		}
		return all, values
	}
	first := drivertest.Request(1)
	first.Holder = "web-1:4711"
	g := drivertest.MustAcquire(t, c, first)
	all, values := holders()
	if len(all) != 1 || !regexp.MustCompile("^"+first.Token+`-\d{10}$`).MatchString(all[0]) ||
		values[0] != "web-1:4711 has worker ID 0" {
		t.Fatalf("the holders are %q, with %q", all, values)
	}

	next := drivertest.Request(1)
	for range 2 {
		if _, err := c.Acquire(t.Context(), next); !errors.Is(err, coord.ErrNoWorkerID) {
			t.Fatalf("the only worker ID is held: %v", err)
		}
	}
	all, _ = holders()
	if len(all) != 2 {
		t.Errorf("a holder, and one that waits: %q", all)
	}
	for _, name := range all {
		if strings.HasPrefix(name, next.Token) {
			if err := s.conn.Delete(s.nodes.holders()+"/"+name, -1); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := c.Release(t.Context(), g, g.NotBefore); err != nil {
		t.Fatal(err)
	}
	drivertest.MustAcquire(t, c, next)
	if all, values = holders(); len(all) != 1 || !strings.HasSuffix(values[0], "has worker ID 0") {
		t.Errorf("after the node was deleted: %q, with %q", all, values)
	}
}
