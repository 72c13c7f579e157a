package redis_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/redis"
	"github.com/unalike-id/unalike/internal/testserver/redistest"
)

// post is a network that loses and delays messages on demand, and repeats old ones.
type post struct {
	direct *goredis.Client

	mu     sync.Mutex
	fault  fault
	caught [][]any // the messages that something was done to
}

// fault is what a post does to messages.
type fault int

const (
	noFault     fault = iota
	replyLost         // the request is executed, and nobody learns of it
	requestLate       // the request is not executed before it is delivered
	replyTwice        // the request is executed, and again when it is delivered
)

var errPost = errors.New("the network has lost it")

func (*post) DialHook(next goredis.DialHook) goredis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (*post) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return next
}

func (p *post) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		p.mu.Lock()
		f := p.fault
		if f != noFault {
			p.caught = append(p.caught, cmd.Args())
		}
		p.mu.Unlock()
		if f == requestLate {
			cmd.SetErr(errPost)
			return errPost
		}
		err := next(ctx, cmd)
		if f == replyLost && !goredis.HasErrorPrefix(err, "NOSCRIPT") {
			err = errPost
			cmd.SetErr(err)
		}
		return err
	}
}

func (p *post) set(f fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault = f
}

// deliver executes all messages that something was done to.
func (p *post) deliver(t *testing.T) {
	t.Helper()
	p.mu.Lock()
	caught := p.caught
	p.mu.Unlock()
	if len(caught) == 0 {
		t.Fatal("the post has nothing to deliver")
	}
	for _, args := range caught {
		_ = p.direct.Do(within(t), args...).Err()
	}
}

// ledger is what holders have adopted.
type ledger []adopted

type adopted struct {
	holder string
	grant  coord.Grant
}

func (l *ledger) adopt(holder string, g coord.Grant, err error) bool {
	if err == nil {
		*l = append(*l, adopted{holder, g})
	}
	return err == nil
}

// check reports windows of one worker ID and two holders that overlap.
func (l ledger) check(t *testing.T) {
	t.Helper()
	for i, a := range l {
		for _, b := range l[:i] {
			if a.grant.WorkerID == b.grant.WorkerID && a.holder != b.holder && a.grant.NotBefore < b.grant.NotAfter && b.grant.NotBefore < a.grant.NotAfter {
				t.Errorf("%s had %v and %s had %v", b.holder, b.grant, a.holder, a.grant)
			}
		}
	}
}

// TestBetween: a loss, an operator, or both come between the calls of a holder, of which
// one lost its reply, is executed late, or is executed twice. Windows never overlap.
func TestBetween(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	direct := server.Client(t)
	events := map[string]func(*testing.T, string, coord.Grant){
		"nothing": func(*testing.T, string, coord.Grant) {},
		"flush": func(t *testing.T, ns string, _ coord.Grant) {
			t.Helper()
			direct.Del(within(t), slots(ns), leaseKey(ns, 0))
		},
		"operator": func(t *testing.T, ns string, g coord.Grant) {
			t.Helper()
			until := time.UnixMicro(scale().Micro(g.NotAfter + 1500))
			if _, err := newCoordinator(t, direct, ns, nil).Quarantine(within(t), until); err != nil {
				t.Fatal(err)
			}
		},
		"flush, flush": func(t *testing.T, ns string, _ coord.Grant) {
			t.Helper()
			direct.Del(within(t), slots(ns), leaseKey(ns, 0))
			mustAcquire(t, newCoordinator(t, direct, ns, nil), request(1))
			direct.Del(within(t), slots(ns), leaseKey(ns, 0))
		},
	}
	faults := map[string]fault{"reply lost": replyLost, "request late": requestLate, "request twice": replyTwice}
	for _, op := range []string{"acquire", "renew", "resume", "release", "quarantine"} {
		for fault, f := range faults {
			for event, happens := range events {
				t.Run(fmt.Sprint(op, ", ", fault, ", ", event), func(t *testing.T) {
					between(t, direct, server, op, f, happens)
				})
			}
		}
	}
}

// between is one case: the holder a makes a call that has a fault, something happens, b
// takes the worker ID over, a goes on, and old messages arrive.
func between(t *testing.T, direct *goredis.Client, server *redistest.Server, op string, f fault, happens func(*testing.T, string, coord.Grant)) {
	t.Helper()
	ns := newNamespace(t, direct, layout)
	p, client := &post{direct: direct}, server.Client(t)
	client.AddHook(p)
	a, b := newCoordinator(t, client, ns, nil), newCoordinator(t, direct, ns, nil)
	var l ledger
	req := request(1)
	g := mustAcquire(t, a, req)
	l.adopt("a", g, nil)
	g, err := a.Renew(within(t), g, g.NotAfter+1000)
	if !l.adopt("a", g, err) {
		t.Fatal(err)
	}
	last := g.NotAfter - 500
	first, token := bare(g), rand.Text()
	again := func() {
		t.Helper()
		switch op {
		case "acquire":
			h, err := a.Acquire(within(t), req)
			if l.adopt("a", h, err) {
				g = h
			}
		case "renew":
			h, err := a.Renew(within(t), g, g.NotAfter+3000)
			if l.adopt("a", h, err) {
				g = h
			}
		case "resume":
			h, err := a.Resume(within(t), first, token, first.NotAfter+3000)
			if l.adopt("a", h, err) {
				g = h
			}
		case "release":
			_ = a.Release(within(t), g, last)
			for i := range l {
				if l[i].holder == "a" {
					l[i].grant.NotAfter = min(l[i].grant.NotAfter, last)
				}
			}
		case "quarantine":
			_, _ = a.Quarantine(within(t), time.UnixMicro(scale().Micro(g.NotAfter+700)))
		}
	}
	if op == "acquire" { // of a new attempt, after a crash
		req = request(1)
		endLease(t, direct, ns, 0)
		for i := range l {
			l[i].holder = "crashed"
		}
	}
	p.set(f)
	again()
	p.set(noFault)
	happens(t, ns, g)
	takeOver := func(who string, c *redis.Coordinator) {
		t.Helper()
		endLease(t, direct, ns, 0)
		h, err := c.Acquire(within(t), request(1))
		if !l.adopt(who, h, err) {
			t.Fatalf("%s takes it over: %v", who, err)
		}
		h, err = c.Renew(within(t), h, max(h.NotAfter, tickNow()+5000))
		l.adopt(who, h, err)
	}
	takeOver("b", b)
	p.deliver(t)
	again()
	p.deliver(t)
	takeOver("c", newCoordinator(t, direct, ns, nil))
	p.deliver(t)
	takeOver("d", b)
	l.check(t)
}
