package redis_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/unalike-id/unalike/coord/redis"
	"github.com/unalike-id/unalike/internal/testserver/redistest"
)

// interrupter makes something happen before one of a client's steps.
type interrupter struct {
	client *goredis.Client
	fails  string // steps whose request has this text fail; empty: none does
	twice  bool   // each step is sent once more

	mu   sync.Mutex
	left int // steps until then; 0: act is called before each
	has  string
	act  func()
	done bool
}

// interrupted returns a client of a server of its own with an interrupter.
func interrupted(tb testing.TB, s *redistest.Server) *interrupter {
	tb.Helper()
	i := &interrupter{client: s.Client(tb)}
	i.client.AddHook(i)
	return i
}

// before has act called before the n-th step from now on whose request has a text; 0: before each.
// It reports whether it was.
func (i *interrupter) before(n int, has string, act func()) (acted func() bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.left, i.has, i.act, i.done = n, has, act, false
	return func() bool {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.act = nil
		return i.done
	}
}

// DialHook implements [goredis.Hook].
func (*interrupter) DialHook(next goredis.DialHook) goredis.DialHook { return next }

// ProcessPipelineHook implements [goredis.Hook].
func (*interrupter) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return next
}

// ProcessHook implements [goredis.Hook]. Others wait meanwhile.
func (i *interrupter) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		args := cmd.Args()
		text, step := args[len(args)-1].([]byte)
		if step && i.fails != "" && strings.Contains(string(text), i.fails) {
			cmd.SetErr(errAway)
			return errAway
		}
		i.mu.Lock()
		if i.act != nil && step && strings.Contains(string(text), i.has) {
			if i.left--; i.left < 0 {
				i.act()
			} else if i.left == 0 {
				i.act()
				i.act, i.done = nil, true
			}
		}
		i.mu.Unlock()
		if i.twice {
			_ = next(ctx, cmd)
		}
		return next(ctx, cmd)
	}
}

// TestSentTwiceIsNoCopy: a client sends a renewal once more by itself, as that of a Cluster does
// after an error of the network.
func TestSentTwiceIsNoCopy(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	i := interrupted(t, server)
	c := newCoordinator(t, i.client, newNamespace(t, server.Client(t), layout), nil)
	g := mustAcquire(t, c, request(1))
	i.twice = true
	for range 2 {
		next, err := c.Renew(within(t), g, g.NotAfter+10)
		if err != nil || next.NotAfter != g.NotAfter+10 {
			t.Fatalf("%v was sent twice, with the answer %v, %v", g, next, err)
		}
		g = next
	}
	mustRelease(t, c, g)
}

var errAway = errors.New("the server is away")

// backup returns a function that puts the hash of a namespace back as it is now, in the
// same running server.
func backup(tb testing.TB, client *goredis.Client, ns string) (restore func()) {
	tb.Helper()
	dump, err := client.Dump(within(tb), redis.KeyOf(ns)).Result()
	if err != nil {
		tb.Fatal(err)
	}
	return func() {
		tb.Helper()
		if err := client.RestoreReplace(within(tb), redis.KeyOf(ns), 0, dump).Err(); err != nil {
			tb.Fatal(err)
		}
	}
}
