package redis

import (
	"context"

	goredis "github.com/redis/go-redis/v9"

	"github.com/unalike-id/unalike/internal/lifetime"
)

// longestCall bounds a call whose context has no deadline.
const longestCall = MaxHorizon

// call makes a call of a client that ends with ctx, and has all the time that ctx gives it. The
// client looks at a context's deadline, but not at its being cancelled while it waits
// for an answer; so it waits aside.
//
// There it has as long again: an answer that comes late finds its connection, which the
// next call uses, where the client would cut it. A server that takes three seconds for
// everything takes six for what is said on a new connection.
func (s *store) call(ctx context.Context,
	do func(context.Context, goredis.UniversalClient) ([]string, error),
) ([]string, error) {
	type result struct {
		reply []string
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
		r, err := do(aside, client.UniversalClient)
		done <- result{r, err}
	}()
	select {
	case r := <-done:
		return r.reply, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// run has a server run the script with keys of a namespace. It knows the script by its hash; one
// that does not know it yet has done nothing and is sent the text, which costs one more round trip.
// While some of the keys are on their way to another node of a Cluster, it waits.
func run(ctx context.Context, client goredis.UniversalClient, keys []any,
	request []byte,
) (reply []string, err error) {
	for n := 1; ; n++ {
		reply, err = eval(ctx, client, "evalsha", stepHash, keys, request)
		if goredis.HasErrorPrefix(err, "NOSCRIPT") {
			reply, err = eval(ctx, client, "eval", stepSource, keys, request)
		}
		//mutant:redis-tryagain
		if !goredis.HasErrorPrefix(err, "TRYAGAIN") || lifetime.Pause(ctx, n) != nil {
			return reply, err
		}
	}
}

func eval(ctx context.Context, client goredis.UniversalClient, name, script string,
	keys []any, request []byte,
) ([]string, error) {
	args := append([]any{name, script, len(keys)}, keys...)
	cmd := once{goredis.NewCmd(ctx, append(args, request)...)}
	if err := client.Process(ctx, cmd); err != nil {
		return nil, err
	}
	reply, _ := cmd.StringSlice() // nil is no reply of the script
	return reply, nil
}

// once is a command that the client does not repeat after a server may have executed it, whatever
// retries it was set up for: one that is repeated after a failover is refused there. The client
// still follows redirections in a Cluster, whose servers have not executed it.
type once struct{ *goredis.Cmd }

// NoRetry implements [goredis.Cmder].
func (once) NoRetry() bool { return true } //mutant:redis-repeats
