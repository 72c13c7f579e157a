package etcd

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/unalike-id/unalike/internal/etcdclient"
	"github.com/unalike-id/unalike/internal/lifetime"
)

const (
	// longestCall bounds a call whose context has no deadline.
	longestCall = 10 * time.Second
	// shortestCall is enough for a round trip on a slow link.
	shortestCall = 100 * time.Millisecond
	// tries is how often a request is made, at the most. The client sends each to
	// another member.
	tries = 3
	// tidyTime bounds what is done after a call was answered: revoking a lease that is
	// not needed.
	tidyTime = time.Second
)

// pace is how long the cluster takes to answer, by its slowest answers of late.
type pace struct{ nanos atomic.Int64 }

// took notes how long an answer took.
func (p *pace) took(d time.Duration) {
	old := p.nanos.Load()
	p.nanos.Store(max(int64(d), old-old/8))
}

// delay is how long to wait for an answer before the request is made again, of the
// time that is left for it: a third, and up to two thirds if the cluster is slow. To ask
// a slow cluster again makes it slower.
func (p *pace) delay(left time.Duration) time.Duration {
	//mutant:etcd-pace
	return max(left/tries, shortestCall, min(3*time.Duration(p.nanos.Load()), left*2/tries))
}

// ask makes a request that may be made more than once. It may use all the time that
// ctx has left, since a slow cluster is no broken one. If there is no answer after some
// time, the request is made again while the first one goes on: a member that hangs does
// not cost the call. The first answer counts. With repeat, a request that failed for the
// moment is made again at once. Sent is how often the request was made.
func ask[T any](ctx context.Context, p *pace, repeat bool,
	request func(context.Context) (T, error),
) (answer T, sent int, err error) {
	left := timeLeft(ctx)
	type result struct {
		answer T
		err    error
	}
	results := make(chan result, tries)
	var under sync.WaitGroup
	defer under.Wait()
	ctx, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	pending := 0
	send := func() {
		sent++
		pending++
		under.Go(func() {
			var r result
			began := lifetime.Now()
			if r.answer, r.err = request(ctx); r.err == nil {
				p.took(lifetime.Since(began))
			}
			results <- r
		})
	}
	send()
	ticker := time.NewTicker(p.delay(left))
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			if sent < tries {
				send()
			}
		case r := <-results:
			pending--
			switch {
			case r.err == nil || !etcdclient.Transient(r.err) || ctx.Err() != nil:
				if sent > 1 && errors.Is(r.err, context.DeadlineExceeded) {
					p.took(left / time.Duration(sent)) // nobody has answered
				}
				return r.answer, sent, r.err
			case repeat && sent < tries:
				send()
			case pending == 0:
				return r.answer, sent, r.err
			}
		}
	}
}

// timeLeft is how much time a call has.
func timeLeft(ctx context.Context) time.Duration {
	if end, ok := ctx.Deadline(); ok {
		return lifetime.Until(end)
	}
	return longestCall
}
