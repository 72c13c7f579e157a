package redis_test

import (
	"context"
	"errors"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/redis"
	"github.com/unalike-id/unalike/internal/testserver/redistest"
)

// TestCopyIsTold: a process and its copy have one grant. Both renew it, and one of them is
// told that it has lost it. The other one goes on.
func TestCopyIsTold(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	for name, end := range map[string]func(c coord.Coordinator, g coord.Grant) error{
		"renew": func(c coord.Coordinator, g coord.Grant) error {
			_, err := c.Renew(t.Context(), g, g.NotAfter+10)
			return err
		},
		"release": func(c coord.Coordinator, g coord.Grant) error { return c.Release(t.Context(), g, g.NotAfter-1) },
	} {
		t.Run(name, func(t *testing.T) {
			ns := newNamespace(t, server.Client(t), layout)
			p, q := shortCoordinator(t, server.Client(t), ns), shortCoordinator(t, server.Client(t), ns)
			told := acquireIn(t, p, time.Second)
			stays := told
			stays.Handle = nil
			renew := func() {
				t.Helper()
				var err error
				if stays, err = q.Renew(t.Context(), stays, stays.NotAfter+1); err != nil {
					t.Fatal(err)
				}
			}
			renew()
			if err := end(p, told); !errors.Is(err, coord.ErrLeaseLost) {
				t.Fatalf("the copy of a holder has extended its window, and %s is %v", name, err)
			}
			for range 3 {
				renew()
			}
		})
	}
}

// TestSentTwiceIsNoCopy: a client sends a renewal once more by itself, as that of a Cluster does
// after an error of the network.
func TestSentTwiceIsNoCopy(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	ns, client := newNamespace(t, server.Client(t), layout), server.Client(t)
	c := shortCoordinator(t, client, ns)
	g := acquireIn(t, c, time.Second)
	g, err := c.Renew(within(t), g, g.NotAfter+1) // after this the server knows the script
	if err != nil {
		t.Fatal(err)
	}
	sent := 0
	client.AddHook(twice{&sent})
	next, err := c.Renew(within(t), g, g.NotAfter+10)
	if err != nil || next.NotAfter != g.NotAfter+10 || sent < 2 {
		t.Fatalf("%v, %v; sent %d times", next, err, sent)
	}
}

// TestOvertakenIsNoCopy: a renewal of the same process overtakes a renewal, and a release, that
// could not know of it.
func TestOvertakenIsNoCopy(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	for name, call := range map[string]func(c *redis.Coordinator, g coord.Grant) error{
		"renew": func(c *redis.Coordinator, g coord.Grant) error {
			_, err := c.Renew(t.Context(), g, g.NotAfter+1)
			return err
		},
		"release": func(c *redis.Coordinator, g coord.Grant) error { return c.Release(t.Context(), g, g.NotBefore) },
	} {
		t.Run(name, func(t *testing.T) {
			ns, client := newNamespace(t, server.Client(t), layout), server.Client(t)
			c := shortCoordinator(t, client, ns)
			g := acquireIn(t, c, time.Second)
			first := func() {
				if _, err := c.Renew(within(t), g, g.NotAfter+10); err != nil {
					t.Error(err)
				}
			}
			client.AddHook(beside{&first})
			if err := call(c, g); err != nil || first != nil {
				t.Errorf("%v; the other renewal is still to come: %v", err, first != nil)
			}
		})
	}
}

// beside has something happen before the next call of a script is sent.
type beside struct{ first *func() }

func (beside) DialHook(next goredis.DialHook) goredis.DialHook { return next }

func (beside) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return next
}

func (h beside) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		if f := *h.first; cmd.Name() == "evalsha" && f != nil {
			*h.first = nil
			f()
		}
		return next(ctx, cmd)
	}
}

// twice sends each call of a script once more.
type twice struct{ sent *int }

func (twice) DialHook(next goredis.DialHook) goredis.DialHook { return next }

func (twice) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return next
}

func (h twice) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		if cmd.Name() == "evalsha" {
			*h.sent += 2
			_ = next(ctx, cmd)
		}
		return next(ctx, cmd)
	}
}
