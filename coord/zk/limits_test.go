package zk_test

import (
	"strings"
	"testing"

	client "github.com/go-zookeeper/zk"

	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/testserver/zktest"
)

// TestCoordinator_AtItsLimits: with names, windows and holders at the limits, all calls work.
func TestCoordinator_AtItsLimits(t *testing.T) {
	t.Parallel()
	server := zktest.Start(t, zktest.Options{Heap: "1g"})
	servers, ns := []string{server.Addr}, drivertest.LongName()
	others := newOperator(t, servers)
	escaped := strings.NewReplacer("ü", "%C3%BC", "%", "%25", "~", "%7E").Replace(ns)
	// The driver has no limit of its own. To list more takes longer than their leases last.
	l := drivertest.Limits{Workers: drivertest.Most(1 << 14)}
	l.Open = func(tb testing.TB) drivertest.Operator {
		tb.Helper()
		return newCoordinator(tb, servers, ns, nil)
	}
	l.Occupy = func(tb testing.TB, like func(string, int) string) {
		tb.Helper()
		var all []any
		slot, _, err := others.Get(slotPath(escaped, 0))
		if err != nil {
			tb.Fatal(err)
		}
		for id := 1; id < l.Workers; id++ {
			all = append(all, &client.CreateRequest{
				Path: slotPath(escaped, id), Data: []byte(like(string(slot), id)),
				Acl: client.WorldACL(client.PermAll),
			}, &client.CreateRequest{
				Path: ownerPath(escaped, id), Flags: client.FlagEphemeral,
				Acl: client.WorldACL(client.PermAll),
			})
		}
		drivertest.InParts(tb, all, 100, func(part []any) error {
			_, err := others.Multi(part...)
			return err
		})
	}
	l.Run(t)
}

// TestGenerator_AllStripesHeavy: a generator with 1,024 stripes starts and renews each worker ID.
func TestGenerator_AllStripesHeavy(t *testing.T) {
	t.Parallel()
	server := zktest.Start(t, zktest.Options{})
	drivertest.Stripes(t, newCoordinator(t, []string{server.Addr}, "ns", nil), nil)
}
