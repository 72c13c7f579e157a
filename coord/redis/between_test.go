package redis_test

import (
	"context"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/unalike-id/unalike/internal/testserver/redistest"
)

// counter counts the steps of a client.
type counter struct {
	client *goredis.Client
	steps  int
	twice  bool // each is sent once more
}

// counted returns a client of a server of its own with a counter.
func counted(tb testing.TB, s *redistest.Server) *counter {
	tb.Helper()
	c := &counter{client: s.Client(tb)}
	c.client.AddHook(c)
	return c
}

// DialHook implements [goredis.Hook].
func (*counter) DialHook(next goredis.DialHook) goredis.DialHook { return next }

// ProcessPipelineHook implements [goredis.Hook].
func (*counter) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return next
}

// ProcessHook implements [goredis.Hook].
func (c *counter) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		if _, step := cmd.Args()[len(cmd.Args())-1].([]byte); step {
			c.steps++
		}
		if c.twice {
			_ = next(ctx, cmd)
		}
		return next(ctx, cmd)
	}
}

// TestSentTwiceIsNoCopy: a proxy sends a renewal twice, and passes on the second answer.
func TestSentTwiceIsNoCopy(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	twice := counted(t, server)
	c := newCoordinator(t, twice.client, newNamespace(t, server.Client(t), layout))
	g := mustAcquire(t, c, request(1))
	twice.twice = true
	for range 2 {
		next, err := c.Renew(within(t), g, g.NotAfter+10)
		if err != nil || next.NotAfter != g.NotAfter+10 {
			t.Fatalf("%v was sent twice, with the answer %v, %v", g, next, err)
		}
		g = next
	}
	mustRelease(t, c, g)
}
