package redis

import (
	"context"

	"github.com/unalike-id/unalike/internal/lifetime"
)

// longestCall bounds a call whose context has no deadline.
const longestCall = MaxHorizon

// call makes a call that ends with ctx, and has all the time that ctx gives it. The
// client looks at a context's deadline, but not at its being cancelled while it waits
// for an answer; so it waits aside.
//
// There it has as long again: an answer that comes late finds its connection, which the
// next call uses, where the client would cut it. A server that takes three seconds for
// everything takes six for what is said on a new connection.
func (s *store) call(ctx context.Context, request []byte) ([]any, error) {
	type result struct {
		reply []any
		err   error
	}
	client, leave := s.clients.Enter(ctx)
	limit := longestCall
	if end, ok := ctx.Deadline(); ok {
		limit = min(2*lifetime.Until(end), lifetime.Until(end)+longestCall)
	} else {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, longestCall)
		defer stop()
	}
	aside, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit) //mutant:redis-late
	ended := context.AfterFunc(s.life, cancel)
	done := make(chan result, 1)
	go func() {
		defer leave()
		defer cancel()
		defer ended()
		r, err := step.Run(aside, client, []string{s.key}, request).Slice()
		done <- result{r, err}
	}()
	select {
	case r := <-done:
		return r.reply, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
