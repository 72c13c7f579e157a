package etcdclient_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/driver"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/etcdclient"
	"github.com/unalike-id/unalike/internal/leaktest"
	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// TestLogin: the first call logs in, and making a client waits for nobody.
func TestLogin(t *testing.T) {
	t.Parallel()
	u, err := driver.ParseURL("etcd://alice:secret@" +
		drivertest.Answers(t, "SSH-2.0-OpenSSH_9.6\r\n") + "/orders")
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := etcdclient.Config(u, coord.ErrInvalid)
	if err != nil {
		t.Fatal(err)
	}
	var client *clientv3.Client
	made := make(chan struct{})
	go func() {
		client, err = etcdclient.New(cfg)
		close(made)
	}()
	select {
	case <-made:
	case <-time.After(20 * time.Second):
		t.Fatal("making a client waits for a server that does not answer")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := client.Get(ctx, "x"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Get: %v", err)
	}
}

// TestForgotten: a cluster that has forgotten who is logged in is told again.
func TestForgotten(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t)
	etcdtest.Protect(t, server, "ns/", "secret")
	u, err := driver.ParseURL("etcd://holder:secret@" + server.Endpoint + "/orders")
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := etcdclient.Config(u, coord.ErrInvalid)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		client, err := etcdclient.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		for range 2 {
			if _, err := client.Put(t.Context(), "ns/x", "y"); err != nil {
				t.Error(err)
			}
			watched := client.Watch(t.Context(), "ns/x", clientv3.WithRev(1))
			if r := <-watched; r.Err() != nil {
				t.Errorf("watch: %v", r.Err())
			}
		}
	}
}

// TestConfig: what is wrong with a URL is said.
func TestConfig(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"etcd://alice@h/x":           "a user and a password belong together",
		"etcd://h/x?ca=/nowhere.pem": "etcds",
		"etcds://h/x?ca=/nowhere":    "/nowhere",
		"etcd://h:x/y":               "port",
	} {
		u, err := driver.ParseURL(url)
		if err == nil {
			_, err = etcdclient.Config(u, coord.ErrInvalid)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", url, err, want)
		}
	}
}
