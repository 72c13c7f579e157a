package zk_test

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	client "github.com/go-zookeeper/zk"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/zk"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
	"github.com/unalike-id/unalike/internal/testserver/zktest"
)

func worldACL() []client.ACL { return client.WorldACL(client.PermAll) }

// wantRefused checks that an acquisition fails for good, and that the error says why
// and has no password.
func wantRefused(t *testing.T, c coord.Coordinator, req coord.Request, says ...string) {
	t.Helper()
	_, err := c.Acquire(within(t), req)
	drivertest.WantInvalid(t, "Acquire", err, says...)
	t.Log(err)
	if err != nil && strings.Contains(err.Error(), "secret") {
		t.Error("the error has the password")
	}
}

// TestSessionBounds: a server that makes sessions shorter or longer than the TTL is
// refused, with both.
func TestSessionBounds(t *testing.T) {
	// 1.2 to 12 s
	server := zktest.Start(t, zktest.Options{OwnBounds: true, Tick: 600 * time.Millisecond})
	c := newCoordinator(t, []string{server.Addr}, rand.Text(), nil)
	wantRefused(t, c, request(1), "TTL is 15s", "makes it 12s", "tickTime")
	req := request(1)
	req.TTL = time.Second
	wantRefused(t, c, req, "TTL is 1s", "makes it 1.2s")
	req = request(1)
	req.TTL = 12 * time.Second
	mustAcquire(t, c, req)
}

// TestBoundsBindHoldersAlone: who holds nothing needs no TTL that the servers accept: an
// operator, and who comes with a grant that does not say how long its lease lasts, which
// the slot does.
func TestBoundsBindHoldersAlone(t *testing.T) {
	// 0.2 to 2 s
	server := zktest.Start(t, zktest.Options{OwnBounds: true, Tick: 100 * time.Millisecond})
	ns := rand.Text()
	restarted := func() protocol.Full { return newCoordinator(t, []string{server.Addr}, ns, nil) }
	req := request(1)
	req.TTL = 2 * time.Second
	if err := restarted().Init(within(t), space()); err != nil {
		t.Errorf("Init: %v", err)
	}
	g := mustAcquire(t, restarted(), req)
	for _, step := range []struct {
		name string
		do   func(c protocol.Full, g coord.Grant) (coord.Grant, error)
	}{
		{"Renew", func(c protocol.Full, g coord.Grant) (coord.Grant, error) {
			return c.Renew(within(t), g, g.NotAfter+1)
		}},
		{"Resume", func(c protocol.Full, g coord.Grant) (coord.Grant, error) {
			return c.Resume(within(t), g, rand.Text(), g.NotAfter+1)
		}},
		{"Release", func(c protocol.Full, g coord.Grant) (coord.Grant, error) {
			return g, c.Release(within(t), g, g.NotAfter)
		}},
	} {
		g.Handle = nil
		next, err := step.do(restarted(), g)
		if err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		g = next
	}
	if slots, err := restarted().List(within(t)); err != nil || len(slots) != 1 {
		t.Errorf("List: %v, %v", slots, err)
	}
	if _, err := restarted().Quarantine(within(t), time.Time{}); err != nil {
		t.Errorf("Quarantine: %v", err)
	}
}

// TestAccess: who may use a namespace is up to who made it.
func TestAccess(t *testing.T) {
	server := zktest.Start(t, zktest.Options{})
	o := newOperator(t, []string{server.Addr})
	servers := []string{server.Addr}
	ann := &zk.Options{User: "ann", Password: "secret"}

	nowhere := newCoordinator(t, servers, "ns", &zk.Options{Chroot: "/no/such"})
	wantRefused(t, nowhere, request(1), `chroot "/no/such" does not exist`)
	_, err := nowhere.Inspect(within(t))
	drivertest.WantInvalid(t, "Inspect", err, `"/no/such"`)

	if _, err := o.Create("/locked", nil, 0, client.WorldACL(client.PermRead)); err != nil {
		t.Fatal(err)
	}
	wantRefused(t, newCoordinator(t, servers, "ns", &zk.Options{Chroot: "/locked"}), request(1),
		"refuses access", "node /locked without a user")

	c := newCoordinator(t, servers, "ns", ann)
	g := mustAcquire(t, c, request(2))
	if _, err := c.Renew(within(t), g, g.NotAfter+1000); err != nil {
		t.Error(err)
	}
	wantRefused(t, newCoordinator(t, servers, "ns", nil), request(1), "refuses access",
		"without a user")
	wantRefused(t, newCoordinator(t, servers, "ns", &zk.Options{User: "ann", Password: "secret2"}),
		request(1), "refuses access", `user "ann"`, "wrong password")
	if slots, err := newCoordinator(t, servers, "ns", nil).List(within(t)); !errors.Is(err,
		coord.ErrInvalid) {
		t.Errorf("List without a user: %v, %v; want %v", slots, err, coord.ErrInvalid)
	}
	if slots, err := newCoordinator(t, servers, "ns", ann).List(within(t)); err != nil ||
		len(slots) != 1 || slots[0].State != coord.SlotHeld {
		t.Errorf("List: %v, %v", slots, err)
	}
	for _, path := range []string{
		"", "/meta", "/clock", "/slots", "/owners", "/tokens", "/identities",
		"/slots/0000000000",
	} {
		acl, _, err := o.GetACL(spacePath("ns") + path)
		if err == nil && len(acl) == 1 && acl[0].Scheme != "digest" {
			t.Errorf("anybody may use %s: %v", path, acl)
		}
	}

	// What ann writes into a namespace of everybody could not be used by the others.
	open := newCoordinator(t, servers, "open", nil)
	if g, err := open.Acquire(within(t), request(2)); err != nil {
		t.Error(err)
	} else {
		second := newCoordinator(t, servers, "open", ann)
		wantRefused(t, second, request(2), "made without a user")
		drivertest.WantInvalid(t, "Retire as a user", second.Retire(within(t), 1), "made without a user")
		if _, err := open.Renew(within(t), g, g.NotAfter+1000); err != nil {
			t.Error(err)
		}
	}
}

// TestForeign: a port that speaks another protocol.
func TestForeign(t *testing.T) {
	addr := drivertest.Answers(t, "220 mail.example.com ESMTP\r\n")
	c := newCoordinator(t, []string{addr}, "ns", nil)
	wantRefused(t, c, request(1), addr, "expected ZooKeeper, found a mail or FTP server")
}

// TestUnreachable: nobody answers. The error says who, and what the network says; it
// is no reason to give up.
func TestUnreachable(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	const closed = "127.0.0.1:1" // no other test can take it
	for addr, says := range map[string]string{
		silent.Addr().String(): "no answer from",
		closed:                 "refused",
	} {
		c := newCoordinator(t, []string{addr}, "ns", nil)
		// On a slow machine, the first call may end before anybody was asked.
		streamtest.Eventually(t, "the error says "+says+" and "+addr, func() bool {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			began := time.Now()
			g, err := c.Acquire(ctx, request(1))
			if err == nil || coord.Permanent(err) || !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("Acquire from %s: %v, %v; want an error that may pass", addr, g, err)
			}
			if took := time.Since(began); took > callTime {
				t.Errorf("the call was to end after 1 s and took %v", took)
			}
			return strings.Contains(err.Error(), says) && strings.Contains(err.Error(), addr)
		})
	}
}
