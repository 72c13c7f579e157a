package backend_test

import (
	"context"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/faults/backend"
	"github.com/unalike-id/unalike/faults/proxy"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
)

// Clients are behind the proxy with all that they do, and go on when it is healed.
func TestProxy(t *testing.T) {
	for _, name := range []string{"etcd", "etcd3", "redis", "cluster", "zk", "zk3", "postgres", "mariadb"} {
		t.Run(name, func(t *testing.T) {
			b := backend.Start(t, name)
			p, c := b.Proxy(), open(t, b, lease...)
			g := streamtest.Generate(t, c, core.Config{})
			for fault, begin := range map[string]func(*proxy.Proxy){
				"requests lost": (*proxy.Proxy).LoseRequests, "replies lost": (*proxy.Proxy).LoseReplies,
				"all lost": (*proxy.Proxy).LoseAll, "refused": (*proxy.Proxy).Refuse,
			} {
				begin(p)
				ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
				if all, err := c.(coord.Admin).List(ctx); err == nil {
					t.Errorf("%s, and %v came through", fault, all)
				}
				cancel()
				p.Heal()
				renewed(t, g)
			}
			p.DelayRequests(100 * time.Millisecond)
			p.DelayReplies(100 * time.Millisecond)
			renewed(t, g)
			p.Heal()
			p.Reset()
			renewed(t, g)
			p.LoseAcks(2, b.IsCall)
			streamtest.Eventually(t, "acknowledgements are lost", func() bool { return p.AcksLost() >= 2 })
			renewed(t, g)
			p.Heal()
			renewed(t, g)
			wantID(t, g)
		})
	}
}

// A request that is delivered when its client has long done without it changes nothing.
func TestHold(t *testing.T) {
	for _, name := range []string{"etcd", "redis", "zk", "postgres", "mariadb"} {
		t.Run(name, func(t *testing.T) {
			b := backend.Start(t, name)
			c := open(t, b)
			h := b.Proxy().Hold(b.IsCall)
			req := drivertest.Request(1)
			var g coord.Grant
			streamtest.Eventually(t, "a worker ID is acquired without the request that is held", func() bool {
				var err error
				g, err = c.Acquire(streamtest.Within(t), req)
				return err == nil
			})
			<-h.Caught()
			r, err := c.Renew(streamtest.Within(t), g, g.NotAfter+1)
			if err != nil {
				t.Fatal(err)
			}
			err = h.Deliver()
			if name != "zk" { // which has closed the connection
				if err != nil {
					t.Fatal(err)
				}
				streamtest.Eventually(t, "the server answers", func() bool { return h.Answer() != "" })
			}
			if all := slots(t, b); len(all) != 1 || all[0].Generation != r.Generation || all[0].NotAfter < r.NotAfter {
				t.Errorf("%v was granted; after the request that was held for long, there are %v", r, all)
			}
			if _, err := c.Renew(streamtest.Within(t), r, r.NotAfter+1); err != nil {
				t.Error(err)
			}
		})
	}
}
