package redis_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/redis"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/testserver/redistest"
)

// TestClientRefused: clients that would not do what is relied on.
func TestClientRefused(t *testing.T) {
	closed := func(c goredis.UniversalClient) goredis.UniversalClient {
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	cluster := func(o goredis.ClusterOptions) goredis.UniversalClient {
		o.Addrs = []string{"localhost:1"}
		return closed(goredis.NewClusterClient(&o))
	}
	single := func(o goredis.Options) goredis.UniversalClient {
		o.Addr = "localhost:1"
		return closed(goredis.NewClient(&o))
	}
	const endless = "a call may last for more than 30s with ReadTimeout "
	for _, tc := range []struct {
		client goredis.UniversalClient
		says   string
	}{
		{nil, "the Redis client is nil"},
		{(*goredis.Client)(nil), "is nil"},
		{(*goredis.ClusterClient)(nil), "is nil"},
		{
			closed(goredis.NewRing(&goredis.RingOptions{Addrs: map[string]string{"a": "localhost:1"}})),
			"Ring",
		},
		{struct{ goredis.UniversalClient }{single(goredis.Options{})}, "*redis.ClusterClient is needed"},
		{single(goredis.Options{ReadTimeout: -1}), endless},
		{single(goredis.Options{WriteTimeout: redis.MaxHorizon + 1}), endless},
		{single(goredis.Options{ContextTimeoutEnabled: true, ReadTimeout: -2}), endless},
		{single(goredis.Options{ContextTimeoutEnabled: true, WriteTimeout: -2}), endless},
		{cluster(goredis.ClusterOptions{ReadTimeout: -1}), endless},
		{cluster(goredis.ClusterOptions{ContextTimeoutEnabled: true, ReadTimeout: -2}), endless},
		{cluster(goredis.ClusterOptions{ReadOnly: true}), "clear ReadOnly"},
		{cluster(goredis.ClusterOptions{RouteByLatency: true}), "RouteByLatency"},
		{
			cluster(goredis.ClusterOptions{RouteRandomly: true, ReadTimeout: -1}),
			"ask a replica; " + endless + "0s",
		},
	} {
		_, err := redis.New(tc.client, "ns", redis.Options{})
		drivertest.WantInvalid(t, "New", err, tc.says)
	}
	for _, client := range []goredis.UniversalClient{
		single(goredis.Options{}), cluster(goredis.ClusterOptions{}),
		single(goredis.Options{MaxRetries: 2, ReadTimeout: redis.MaxHorizon}),
		cluster(goredis.ClusterOptions{MaxRetries: 2}),
		single(goredis.Options{ContextTimeoutEnabled: true, ReadTimeout: -1, WriteTimeout: time.Hour}),
		cluster(goredis.ClusterOptions{ContextTimeoutEnabled: true, ReadTimeout: -1, WriteTimeout: -1}),
	} {
		newCoordinator(t, client, "ns")
	}
}

// TestRequestRefused: what Redis cannot serve.
func TestRequestRefused(t *testing.T) {
	c := newCoordinator(t, redistest.Start(t, redistest.Options{}).Client(t), "ns")
	large := request(redis.MaxShare + 1)
	large.Capacity = 1 << 20
	long := request(1)
	long.Until = long.Now + redis.MaxHorizon.Milliseconds() + 1
	for says, req := range map[string]coord.Request{"30s is allowed": long, "Workers.Count": large} {
		_, err := c.Acquire(within(t), req)
		drivertest.WantInvalid(t, "Acquire", err, says)
	}
}

// TestWrongServer: what the error says if the server is not as it has to be.
func TestWrongServer(t *testing.T) {
	locked := redistest.Start(t, redistest.Options{Password: "s3cret"})
	pair := redistest.StartPair(t, redistest.Options{})
	sentinel := redistest.StartReplicated(t, redistest.Options{}).Sentinel
	web := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(web.Close)
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	rude := drivertest.Answers(t, "")
	mysql := drivertest.Answers(t, "h\x00\x00\x00\n\r\n")
	single := redistest.Start(t, redistest.Options{Args: []string{"--min-replicas-to-write", "1"}})
	full := redistest.Start(t, redistest.Options{Args: []string{
		"--maxmemory", "1",
		"--maxmemory-policy", "noeviction",
	}})
	for name, tc := range map[string]struct {
		url     string
		invalid bool
		says    string
	}{
		"cut off":     {"redis://" + single.Addr, false, "NOREPLICAS"},
		"no password": {"redis://" + locked.Addr + "/0", true, "wants a password"},
		"wrong password": {
			"redis://:wr0ng@" + locked.Addr + "/0", true,
			"refuses the user name or the password",
		},
		"unknown user": {
			"redis://eve:s3cret@" + locked.Addr + "/0", true,
			"refuses the user name or the password",
		},
		"replica": {"redis://" + pair.Replica.Addr, false, "is a replica"},
		"no such database": {
			"redis://" + pair.Primary.Addr + "/99", true,
			"has no such database",
		},
		"not a Cluster": {"redis-cluster://" + pair.Primary.Addr, true, "Cluster"},
		"not a Sentinel": {
			"redis-sentinel://" + pair.Primary.Addr + "/mymaster", true,
			"Sentinel",
		},
		"unknown master": {
			"redis-sentinel://" + sentinel + "/who", true,
			"know no master of that name",
		},
		"a web server": {
			"redis://" + web.Listener.Addr().String(), true,
			"expected Redis, found an HTTP server at " + web.Listener.Addr().String(),
		},
		"a load balancer": {
			"redis://" + drivertest.Answers(t, "HTTP/1.1 503 Service Unavailable\r\n\r\n"), false,
			"does not speak the protocol of Redis: is it the port of a Redis for clients?",
		},
		"a fake Redis": { // as miniredis answers
			"redis://" + drivertest.AnswersAll(t, "-ERR Error compiling script (new function): :24: "+
				"section (server) is not supported\r\n"), true,
			"does not run scripts as Redis 7.0 and later do",
		},
		"a MySQL": {
			"redis://" + mysql, false,
			"does not speak the protocol of Redis: is it the port of a Redis for clients?",
		},
		"silence": {"redis://" + silent.Addr().String(), false, "no answer"},
		"no Redis": {
			"redis://" + rude, false,
			"is it the port of a Redis for clients?",
		},
		"nobody": {"redis://127.0.0.1:1", false, "connection refused"},
		"TLS": {
			"rediss://" + pair.Primary.Addr, true,
			"expected Redis with TLS, found Redis without TLS at " + pair.Primary.Addr,
		},
		"out of memory": {"redis://" + full.Addr, false, "maxmemory"},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := coord.Open(within(t), tc.url+"?namespace=ns", coord.OpenOptions{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = c.Close() })
			ctx := within(t)
			if tc.says == "no answer" { // which is found out by waiting
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, 2*time.Second)
				defer cancel()
			}
			g, err := c.Acquire(ctx, request(1))
			if err == nil || errors.Is(err, coord.ErrInvalid) != tc.invalid ||
				!strings.Contains(err.Error(), tc.says) {
				t.Errorf("%v, %v; want an error that says %q, invalid: %t", g, err, tc.says, tc.invalid)
			}
			if err != nil && (strings.Contains(err.Error(), "s3cret") ||
				strings.Contains(err.Error(), "wr0ng")) {
				t.Errorf("the error contains the password: %v", err)
			}
			t.Log(err)
		})
	}
}

// TestRenamedCommands: the error names the command that an operator has taken away.
func TestRenamedCommands(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"INFO", "TIME", "EVALSHA", "HSET"} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t, redistest.Options{Args: []string{"--rename-command", command, ""}})
			_, err := newCoordinator(t, server.Client(t), "ns").Acquire(within(t), request(1))
			drivertest.WantInvalid(t, "Acquire", err, "has no command "+command+"; use Redis 7.0 or later")
		})
	}
}

// TestEviction: a server that may throw a namespace away is refused, and one that may throw leases
// away is warned of.
func TestEviction(t *testing.T) {
	for policy, refused := range map[string]bool{
		"allkeys-lru": true, "allkeys-random": true,
		"volatile-lru": false, "noeviction": false,
	} {
		server := redistest.Start(t, redistest.Options{Args: []string{
			"--maxmemory", "100mb",
			"--maxmemory-policy", policy,
		}})
		var log bytes.Buffer
		c, err := redis.New(server.Client(t), "ns", redis.Options{
			Logger: slog.New(slog.NewTextHandler(&log, nil)),
		})
		c = drivertest.Closing(t, c, err)
		_, err = c.Acquire(within(t), request(1))
		if refused && (!errors.Is(err, coord.ErrInvalid) || !strings.Contains(err.Error(), policy)) ||
			!refused && err != nil {
			t.Errorf("%s: %v; refused: %t", policy, err, refused)
		}
		server.Do(t, "CONFIG", "SET", "maxmemory", "0")
		if _, err := c.Acquire(within(t), request(2)); err != nil {
			t.Errorf("%s, without a limit of memory: %v", policy, err)
		}
		_ = c.Close() // with it ends what is logged in the background
		if warned := strings.Contains(log.String(), "it may end leases"); warned !=
			strings.HasPrefix(policy, "volatile") {
			t.Errorf("%s: warned: %t", policy, warned)
		}
	}
}

// TestReplicaHeals: a client that is still connected to a master that has become a
// replica finds the new one, and nobody is told by the replica that a grant is lost.
func TestReplicaHeals(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	c := newCoordinator(t, p.client(t), newNamespace(t, p.client(t), layout))
	g := mustAcquire(t, c, request(1))
	p.synced(t)
	p.b.Do(t, "REPLICAOF", "NO", "ONE")
	follow(t, p.a, p.b.Addr)
	p.active.Store(p.b) // the connection is still to a
	eventually(t, "the new master serves", func() bool {
		_, err := c.Renew(within(t), g, g.NotAfter)
		if errors.Is(err, coord.ErrLeaseLost) {
			t.Fatal(err)
		}
		return err == nil || errors.Is(err, coord.ErrQuarantined)
	})
}

// TestReplicaIsNotBelieved: a replica that has nothing yet proves nothing.
func TestReplicaIsNotBelieved(t *testing.T) {
	client := redistest.Start(t, redistest.Options{}).Client(t)
	g := mustAcquire(t, newCoordinator(t, client, newNamespace(t, client, layout)), request(1))
	replica := redistest.Start(t, redistest.Options{})
	replica.Do(t, "REPLICAOF", "127.0.0.1", 1)
	c := newCoordinator(t, replica.Client(t), "ns")
	err := c.Release(within(t), g, g.NotBefore)
	if err == nil || errors.Is(err, coord.ErrLeaseLost) || !strings.Contains(err.Error(), "replica") {
		t.Errorf("Release at an empty replica: %v; want an error that is not definite", err)
	}
	if slots, err := c.List(within(t)); err == nil {
		t.Errorf("List at an empty replica: %v", slots)
	}
}
