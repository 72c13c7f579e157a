package redis_test

import (
	"context"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/redis"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/testserver/fulltest"
	"github.com/unalike-id/unalike/internal/testserver/proctest"
	"github.com/unalike-id/unalike/internal/testserver/proxytest"
	"github.com/unalike-id/unalike/internal/testserver/redistest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
)

// behind returns a client of a server behind a network that can be slow.
func behind(t *testing.T, server *redistest.Server) (*goredis.Client, *proxytest.Proxy) {
	t.Helper()
	network := proxytest.Start(t, server.Addr)
	client := goredis.NewClient(&goredis.Options{
		Addr: network.Addr, ContextTimeoutEnabled: true, ReadTimeout: -1, WriteTimeout: -1,
	})
	t.Cleanup(func() { _ = client.Close() })
	return client, network
}

// slowly returns a coordinator behind a network that can be slow.
func slowly(t *testing.T) (coord.AdminCoordinator, *proxytest.Proxy) {
	t.Helper()
	server := redistest.Start(t, redistest.Options{})
	client, network := behind(t, server)
	return newCoordinator(t, client, newNamespace(t, server.Client(t), layout)), network
}

// TestHiccup: an answer comes after the call has ended. Its connection is good for the
// next call, and nothing of what was done is lost.
func TestHiccup(t *testing.T) {
	t.Parallel()
	c, network := slowly(t)
	g := mustAcquire(t, c, request(1))
	if _, err := c.Renew(within(t), g, g.NotAfter); err != nil { // the server knows the script
		t.Fatal(err)
	}
	const delay = 9 * time.Second
	network.Delay(delay)
	ctx, cancel := context.WithTimeout(t.Context(), delay*5/6)
	defer cancel()
	if h, err := c.Renew(ctx, g, g.NotAfter+10); err == nil {
		t.Fatalf("Renew, answered after its time: %v", h)
	}
	network.Delay(0)
	proctest.Eventually(t, time.Minute, "the answer of the call that was given up comes", func() bool {
		return redis.IdleConnections(c) == 1
	})
	h, err := c.Renew(within(t), g, g.NotAfter)
	if err != nil || h.NotAfter != g.NotAfter+10 {
		t.Errorf("Renew after it: %v, %v; want the end at %d, which was stored", h, err, g.NotAfter+10)
	}
	if n := network.Connections(); n != 1 {
		t.Errorf("%d connections were made; want 1", n)
	}
}

// TestClientThatCutsCalls: a client that gives calls less time than they have is warned
// about.
func TestClientThatCutsCalls(t *testing.T) {
	for timeout, warns := range map[time.Duration]bool{
		0: true, time.Second: true, -1: false,
		time.Minute: false,
	} {
		single := goredis.NewClient(&goredis.Options{
			Addr:                  "localhost:1",
			ContextTimeoutEnabled: true, ReadTimeout: timeout, ConnMaxLifetime: time.Minute,
		})
		cluster := goredis.NewClusterClient(&goredis.ClusterOptions{
			Addrs:                 []string{"localhost:1"},
			ContextTimeoutEnabled: true, ReadTimeout: timeout,
		})
		for _, client := range []goredis.UniversalClient{single, cluster} {
			t.Cleanup(func() { _ = client.Close() })
			if w := newCoordinator(t, client, "ns").Describe().Warnings; (len(w) == 1) != warns {
				t.Errorf("%T with a ReadTimeout of %v: warnings %q; want one: %t", client, timeout, w, warns)
			}
		}
	}
}

// TestGeneratorOfASlowRedis: no Next fails while answers are late, always and once by
// three times as much.
func TestGeneratorOfASlowRedis(t *testing.T) {
	fulltest.Long(t, "answers that take seconds")
	t.Parallel()
	c, network := slowly(t)
	streamtest.Slow(t, c, network.Delay)
}

// TestRestart_SlowAnswers: a Redis that is restarted while all answers take 6 s is settled all the
// same, with a floor that allows for them.
func TestRestart_SlowAnswers(t *testing.T) {
	fulltest.Long(t, "answers that take 6 s, and a quarantine")
	t.Parallel()
	const delay = 6 * time.Second
	server := redistest.Start(t, redistest.Options{AppendOnly: true})
	direct := server.Client(t)
	ns := newNamespace(t, direct, layout)
	client, network := behind(t, server)
	c, err := redis.New(client, ns, redis.Options{})
	g := streamtest.Generate(t, drivertest.Closing(t, c, err), core.Config{})
	network.Delay(delay)
	server.Kill()
	server.Restart(t)
	began := time.Now()
	eventually(t, "the loss is settled", func() bool {
		return metaOf(t, direct, ns).Loss.Nonce != ""
	})
	m := metaOf(t, direct, ns)
	found := protocol.Time(m.Loss.Found)
	floor := protocol.Time(m.Scale().Micro(m.Loss.Floor))
	allowance := floor.Sub(found.Add(redis.MaxHorizon + redis.DefaultSkewBound))
	t.Logf("settled after %v, with an allowance of %v", time.Since(began), allowance)
	if allowance < delay || allowance > protocol.LongestAllowance {
		t.Errorf("the floor is %v, for a loss that was found at %v", floor, found)
	}
	network.Delay(0)
	eventually(t, "IDs are issued above the floor", func() bool {
		_, err := g.TryNext()
		return err == nil && time.Now().After(floor)
	})
	t.Logf("IDs after %v", time.Since(began))
}
