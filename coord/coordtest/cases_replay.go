package coordtest

import (
	"context"
	"sync"
)

// replayCases are about rule 4: what a replay must not do.
var replayCases = []testCase{
	{"ReplayedAcquireWhoseContextEnds", 0, abandonedReplays},
}

// abandonedReplays replays the acquisition of a live holder with contexts that end at
// every point of the call that looks at them. Whatever a driver undoes of a call that
// nobody waits for, the grant is not of that call.
func abandonedReplays(s *suite) {
	const looks, rounds = 8, 3
	p := s.client(1)
	req := s.request(p)
	g := s.acquireWith(p, req)
	g = s.renew(p, g, s.now+2*s.horizon)
	for range rounds {
		for look := range looks {
			ctx := endsAtLook(s.ctx(), look+1)
			if r, err := p.Acquire(ctx, req); err == nil {
				s.wantSame("Acquire replayed", r, g)
			}
		}
	}
	s.wantFull("Acquire after replays of the holder's acquisition whose contexts ended", s.client(1))
	r := s.renew(p, g, s.now+3*s.horizon)
	if r.NotBefore != g.NotBefore {
		s.Fatalf("Renew of %v after replays of its acquisition whose contexts ended: %v", g, r)
	}
}

// fleeting is a context that ends when it is looked at for the n-th time.
type fleeting struct {
	context.Context
	end context.CancelFunc

	mu    sync.Mutex
	looks int // that are left
}

func endsAtLook(ctx context.Context, n int) *fleeting {
	inner, cancel := context.WithCancel(ctx)
	return &fleeting{Context: inner, end: cancel, looks: n}
}

func (f *fleeting) look() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.looks--; f.looks == 0 {
		f.end()
	}
}

// Done implements [context.Context].
func (f *fleeting) Done() <-chan struct{} {
	f.look()
	return f.Context.Done()
}

// Err implements [context.Context].
func (f *fleeting) Err() error {
	f.look()
	return f.Context.Err()
}
