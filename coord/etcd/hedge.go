package etcd

import (
	"context"
	"sync"
	"time"

	"github.com/unalike-id/unalike/internal/etcdclient"
	"github.com/unalike-id/unalike/internal/lifetime"
)

const (
	// longestCall bounds a call whose context has no deadline.
	longestCall = 10 * time.Second
	// tidyTime bounds what is done after a call was answered: revoking a lease that is
	// not needed.
	tidyTime = time.Second
)

// ask makes a request. It may use all the time that ctx has left, since a slow cluster is no broken
// one. If half of that time passes without an answer, the request is made once more while the first
// one goes on, and again after three quarters: the client takes the members in turn, so one that
// hangs rarely costs a call. With repeat, the same is done at once if the request fails for the
// moment. No more requests are made than there are members, since whoever calls asks again anyway.
// The first answer counts. Sent is how often the request was made.
func ask[T any](ctx context.Context, members int, repeat bool,
	request func(context.Context) (T, error),
) (answer T, sent int, err error) {
	type result struct {
		answer T
		err    error
	}
	most := min(members, 3) //mutant:etcd-one-member
	results := make(chan result, most)
	var under sync.WaitGroup
	defer under.Wait()
	left := timeLeft(ctx)
	ctx, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	send := func() {
		sent++
		under.Go(func() {
			answer, err := request(ctx)
			results <- result{answer, err}
		})
	}
	send()
	slow := time.NewTimer(left / 2)
	defer slow.Stop()
	for answered := 0; ; {
		select {
		case <-slow.C:
			slow.Reset(left / 4)
			if sent < most {
				send()
			}
		case r := <-results:
			answered++
			over := r.err == nil || !etcdclient.Transient(r.err) || ctx.Err() != nil
			switch {
			case !over && repeat && sent < most:
				send()
			case over || answered == sent:
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
