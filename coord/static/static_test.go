package static

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
)

// request is one at tick now with a window of 3000 ticks.
func request(token string, now int64) coord.Request {
	return coord.Request{
		Token: token, Holder: "test", Fingerprint: "layout-a", Scale: clock.Scale{Unit: 1000},
		LastTick: 1<<41 - 1, Workers: coord.Range{Count: 1024}, Capacity: 1024,
		TTL: 15 * time.Second, Now: now, Until: now + 3000, OpenBy: now, Ahead: 5,
	}
}

func TestSmoke(t *testing.T) {
	state := filepath.Join(t.TempDir(), "s")
	c, err := coord.Open(context.Background(), "static://?worker=7&namespace=smoke&state="+state)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	g, err := c.Acquire(ctx, request("a", 1000))
	t.Log(g, err)
	g, err = c.Renew(ctx, g, 5000)
	t.Log(g, err)
	_, err = c.Acquire(ctx, request("b", 1000))
	t.Log(err)
	t.Log(c.Release(ctx, g, 4500))
	g, err = c.Acquire(ctx, request("b", 1000))
	t.Log(g, err)
	c.Close()
	_, err = c.Acquire(ctx, request("b", 1000))
	t.Log(err)
}
