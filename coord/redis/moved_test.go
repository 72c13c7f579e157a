package redis_test

import (
	"testing"
	"testing/synctest"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/redis"
	"github.com/unalike-id/unalike/internal/lifetime"
	"github.com/unalike-id/unalike/internal/testserver/proxytest"
)

// TestCoordinator_MovedNameIsFollowed has a name lead to another server while the master goes on. A
// connection that has reached its greatest age is replaced by one to that server, unless it is a
// replica.
func TestCoordinator_MovedNameIsFollowed(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	ns := newNamespace(t, p.client(t), layout)
	p.synced(t)
	name := proxytest.Start(t, p.a.Addr)
	synctest.Test(t, func(t *testing.T) {
		c, err := open(t, "redis://"+name.Addr+"?namespace="+ns)
		if err != nil {
			t.Fatal(err)
		}
		wantThere := func(when string, want bool) {
			t.Helper()
			n, err := c.(coord.AdminCoordinator).Inspect(within(t))
			if err != nil || (n.Layout != "") != want {
				t.Errorf("%s Inspect returns %+v, %v; want a namespace: %t", when, n, err, want)
			}
		}
		wantThere("At first", true)
		name.Lead(p.b.Addr)
		time.Sleep(lifetime.MaxAge)
		wantThere("While the name leads to a replica,", true)
		p.b.Do(t, "REPLICAOF", "NO", "ONE")
		p.b.Do(t, "DEL", redis.KeyOf(ns))
		time.Sleep(lifetime.MaxAge)
		wantThere("When it leads to a master that lacks it,", false)
	})
}

// TestNew_WarnsOfConnectionsWithoutBound makes coordinators with clients whose connections live too
// long, and with clients that are told where the master is.
func TestNew_WarnsOfConnectionsWithoutBound(t *testing.T) {
	options := func(life, jitter time.Duration) *goredis.Options {
		return &goredis.Options{
			Addr: "localhost:1", MaxRetries: -1, ContextTimeoutEnabled: true, ReadTimeout: -1,
			WriteTimeout: -1, ConnMaxLifetime: life, ConnMaxLifetimeJitter: jitter,
		}
	}
	for client, warns := range map[goredis.UniversalClient]bool{
		goredis.NewClient(options(0, 0)):                         true,
		goredis.NewClient(options(time.Hour, 0)):                 true,
		goredis.NewClient(options(time.Minute, time.Second)):     true,
		goredis.NewClient(options(time.Minute, 0)):               false,
		goredis.NewClient(options(time.Minute/2, time.Minute/2)): false,
		goredis.NewFailoverClient(&goredis.FailoverOptions{
			SentinelAddrs: []string{"localhost:1"}, MasterName: "m", MaxRetries: -1,
			ContextTimeoutEnabled: true, ReadTimeout: -1, WriteTimeout: -1,
		}): false,
	} {
		t.Cleanup(func() { _ = client.Close() })
		if w := newCoordinator(t, client, "ns").Describe().Warnings; (len(w) == 1) != warns {
			t.Errorf("%v: warnings %q; want one: %t", client, w, warns)
		}
	}
}
