package etcd_test

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/etcd"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
)

// TestLeaseTimes: the URL names them.
func TestLeaseTimes(t *testing.T) {
	c, err := open(t, "etcd://127.0.0.1:1/ns?ttl=20s&horizon=40s&renew=4s&skew=2s")
	if err != nil {
		t.Fatal(err)
	}
	l, err := coord.Describe(c).Rules.Resolve(coord.LeaseConfig{})
	if err != nil || l.TTL != 20*time.Second || l.Horizon != 40*time.Second ||
		l.RenewEvery != 4*time.Second {
		t.Errorf("lease times are %+v, %v", l, err)
	}
}

// TestBadURL: errors name what is wrong, and no password.
func TestBadURL(t *testing.T) {
	junk, old := drivertest.BadFiles(t)
	drivertest.BadURLs(t, map[string]string{
		"etcd3://h/ns": "unknown scheme",
		"etcd:///ns": "there is no host; write " +
			"etcd://host1:2379,host2:2379/namespace",
		"etcd://h":     "no namespace",
		"etcd://h/a/b": "namespace",
		"etcd://h/segments": `the namespace is "segments", which in ` +
			`etcd is where the numbers of segments lie; take another name`,
		"etcd://h,h:2379/ns":      "twice",
		"etcd://h/ns?colour=red":  "known are ca, cert",
		"etcd://h/ns?ttl=10":      "unit",
		"etcd://h/ns?ttl=2500ms":  "2.5s; etcd keeps leases by whole seconds",
		"etcd://h/ns?ttl=1s":      "at least 2s",
		"etcd://h/ns?horizon=25h": "at most 24h0m0s",
		"etcd://h/ns?skew=-1s": `option skew is "-1s"; it is a positive ` +
			`duration with a unit, for example 1s`,
		"etcd://h/ns?skew=5m": "SkewBound is 5m0s; it is positive and " +
			"less than 2m0s",
		"etcd://user@h/ns": "a user and a password belong together; " +
			"write user:password@, or user@ and option password_file, or neither",
		"etcd://:secret@h/ns": "password",
		"etcd://h/ns?ca=x":    "etcds://",
		"etcds://h/ns?cert=x": "cert and key belong together; " +
			"give both, or neither",
		"etcds://h/ns?ca=/no/such/file":                     "no such file",
		"etcds://h/ns?ca=" + junk:                           "no certificate",
		"etcds://h/ns?cert=/no&key=/such":                   "no such file",
		"etcds://h/ns?cert=" + old.Cert + "&key=" + old.Key: "valid from",
	})
}

// TestBadOptions: what New refuses.
func TestBadOptions(t *testing.T) {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{"127.0.0.1:1"}})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for says, tc := range map[string]struct {
		client    *clientv3.Client
		namespace string
		options   etcd.Options
	}{
		"client is nil":   {nil, "ns", etcd.Options{}},
		"namespace":       {client, "a/b", etcd.Options{}},
		"SkewBound is -1": {client, "ns", etcd.Options{SkewBound: -1}},
		"Identity":        {client, "ns", etcd.Options{Lease: coord.LeaseConfig{Identity: "pod-a"}}},
	} {
		_, err := etcd.New(tc.client, tc.namespace, tc.options)
		drivertest.WantInvalid(t, "New", err, says)
	}
}

// TestBadRequest: what etcd cannot do is refused.
func TestBadRequest(t *testing.T) {
	c := newCoordinator(t, etcdtest.Connect(t, []string{"127.0.0.1:1"}), "ns")
	req := request(1)
	req.TTL = 2500 * time.Millisecond
	_, err := c.Acquire(within(t), req)
	drivertest.WantInvalid(t, "Acquire", err, "2.5s; etcd keeps leases by whole seconds")
}

// TestWrongPort: a port where nobody listens is told from one where something else does, which
// speaks, or says nothing.
func TestWrongPort(t *testing.T) {
	t.Parallel()
	mute, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = mute.Close() })
	const foreign = "is it the port of an etcd for clients?"
	for name, tt := range map[string]struct{ addr, says string }{
		"nobody listens": {"127.0.0.1:1", "refused"}, // no other test can take it
		"HTTP": {
			drivertest.Answers(t, "HTTP/1.1 400 Bad Request\r\n\r\n"), "found an HTTP server",
		},
		"Redis":       {drivertest.Answers(t, "-ERR unknown command\r\n"), "found Redis"},
		"it hangs up": {drivertest.Answers(t, ""), foreign},
		"it is mute":  {mute.Addr().String(), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := open(t, "etcd://"+tt.addr+"/ns")
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			_, err = c.Acquire(ctx, request(1))
			if err == nil || !strings.Contains(err.Error(), tt.says) ||
				!strings.Contains(err.Error(), tt.addr) {
				t.Errorf("%v; want an error that names the address and says %q", err, tt.says)
			}
		})
	}
}

// TestTwoClusters: endpoints of two clusters are a mistake that the error names.
func TestTwoClusters(t *testing.T) {
	t.Parallel()
	a, b := etcdtest.Start(t), etcdtest.Start(t)
	c := newCoordinator(t, etcdtest.Connect(t, []string{a.Endpoint, b.Endpoint}), rand.Text())
	var err error
	streamtest.Eventually(t, "both are asked", func() bool {
		_, err = c.Acquire(within(t), request(capacity))
		return err != nil
	})
	drivertest.WantInvalid(t, "Acquire", err, "the endpoints belong to different etcd clusters",
		a.Endpoint, b.Endpoint)
}

// TestPassword logs in through the URL, rightly and wrongly.
func TestPassword(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t)
	const password = "p@ss%word:/?"
	const escaped = "p%40ss%25word%3A%2F%3F"
	etcdtest.Protect(t, server, "/unalike/ns/", password)
	opened := func(userinfo string) coord.Coordinator {
		c, err := open(t, "etcd://"+userinfo+server.Endpoint+"/ns")
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	c := opened("holder:" + escaped + "@")
	g := mustAcquire(t, c, request(1))
	g, err := c.Renew(within(t), g, g.NotAfter+1)
	if err = errors.Join(err, c.Release(within(t), g, g.NotBefore)); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct{ userinfo, says string }{
		"wrong password": {"holder:wrong" + escaped + "@", "refuses the user name or the password"},
		"unknown user":   {"nobody:" + escaped + "@", "refuses the user name or the password"},
		"no user":        {"", "wants a user and a password"},
		"no right":       {"stranger:" + escaped + "@", "may not read and write keys under /unalike/ns/"},
	} {
		_, err := opened(tc.userinfo).Acquire(within(t), request(1)) // the first call logs in
		drivertest.WantInvalid(t, name, err, tc.says)
		if err != nil && (strings.Contains(err.Error(), "p@ss") ||
			strings.Contains(err.Error(), "p%40")) {
			t.Errorf("%s: the error has the password: %v", name, err)
		}
	}
}

// TestPlace: what leads to another namespace is another place.
func TestPlace(t *testing.T) {
	drivertest.Place(t, "etcd://ann:secret@h,i/orders",
		"etcd://h/orders", "etcd://h,i/payments", "etcd://h,i:2380/orders")
}
