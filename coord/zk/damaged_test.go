package zk_test

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"testing"
	"time"

	client "github.com/go-zookeeper/zk"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/testserver/zktest"
)

// TestQuota: an error that the client library does not know is shown.
func TestQuota(t *testing.T) {
	server := zktest.Start(t, zktest.Options{Lines: []string{"enforceQuota=true"}})
	o, ns := newOperator(t, []string{server.Addr}), rand.Text()
	c := newCoordinator(t, []string{server.Addr}, ns, nil)
	mustAcquire(t, c, request(4))
	at := "/zookeeper/quota"
	for _, node := range []struct{ name, value string }{
		{"/unalike", ""},
		{"/" + ns, ""},
		{"/zookeeper_limits", "count=-1,bytes=-1=;byteHardLimit=-1;countHardLimit=3"},
	} {
		if _, err := o.Create(at+node.name, []byte(node.value), 0, worldACL()); err != nil {
			t.Fatal(err)
		}
		if node.value == "" {
			at += node.name
		}
	}
	if _, err := o.Create(at+"/zookeeper_stats", []byte("count=20,bytes=1000"), 0,
		worldACL()); err != nil {
		t.Fatal(err)
	}
	h, err := c.Acquire(within(t), request(4))
	if err == nil || coord.Permanent(err) || !strings.Contains(err.Error(), "quota") {
		t.Errorf("Acquire over the quota: %v, %v; want an error that says so", h, err)
	}
}

// TestRights: the error names the node whose rights are not enough.
func TestRights(t *testing.T) {
	server := zktest.Start(t, zktest.Options{})
	o, ns := newOperator(t, []string{server.Addr}), rand.Text()
	c := newCoordinator(t, []string{server.Addr}, ns, nil)
	g := mustAcquire(t, c, request(2))
	for _, at := range []string{spacePath(ns) + "/owners", slotPath(ns, g.WorkerID)} {
		if _, err := o.SetACL(at, client.WorldACL(client.PermRead|client.PermAdmin), -1); err != nil {
			t.Fatal(err)
		}
		endSession(t, o, server, ns, g.WorkerID)
		_, err := c.Renew(within(t), g, g.NotAfter+1000)
		drivertest.WantInvalid(t, "Renew", err, "node "+at+" ")
		if _, err := o.SetACL(at, worldACL(), -1); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCauses: a call whose time was up says so, whatever the cause of its context.
func TestCauses(t *testing.T) {
	cause := errors.New("the cause")
	c := newCoordinator(t, []string{"127.0.0.1:1"}, "ns", nil)
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, cause)
	defer cancel()
	g, err := c.Acquire(ctx, request(1))
	if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, cause) {
		t.Errorf("Acquire: %v, %v; want %v and the cause", g, err, context.DeadlineExceeded)
	}
}
