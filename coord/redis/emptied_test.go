package redis_test

import (
	"context"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord/redis"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/safetytest"
	"github.com/unalike-id/unalike/internal/testserver/fulltest"
	"github.com/unalike-id/unalike/internal/testserver/redistest"
)

// TestHolderUsesItsWindowAfterALoss: a server that comes back empty grants nothing for 31 s. A
// holder issues IDs until its window ends, and is without IDs for the rest of that time alone.
func TestHolderUsesItsWindowAfterALoss(t *testing.T) {
	fulltest.Long(t, "it waits for the 31 s after a loss")
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	client := server.Client(t)
	c, err := redis.New(client, newNamespace(t, client, layout), redis.Options{})
	g, err := core.New(t.Context(), drivertest.Closing(t, c, err), core.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = g.Close(context.Background()) }() // it may have nothing to give back
	last, err := g.Next()
	if err != nil {
		t.Fatal(err)
	}
	server.Terminate(t)
	restarted := time.Now()
	server.Restart(t)
	gap := time.Duration(0)
	for time.Since(restarted) < 40*time.Second {
		id, err := g.NextContext(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if id <= last {
			safetytest.Of(t).Fatalf("after %d came %d", last, id)
		}
		gap = max(gap, core.DefaultLayout().Decompose(id).Time.Sub(
			core.DefaultLayout().Decompose(last).Time))
		last = id
		time.Sleep(10 * time.Millisecond) // so that 40 s are not a billion IDs
	}
	t.Logf("the gap was %v", gap)
	// At most 31 s less the window that was left, which is 25 s at least, and a renewal interval of
	// 5 s; more on a machine on which renewals are late. A gate that shuts at once makes 31 s of it.
	if gap == 0 || gap > 20*time.Second {
		t.Errorf("there were no IDs for %v", gap)
	}
}
