package segment

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
	"time"
)

// Sequence gives out the numbers of one tag. It is safe for concurrent use. Make it with [New].
type Sequence struct {
	cur atomic.Pointer[span] // the present segment; never nil
	_   [120]byte            // the fields below change

	store Store
	tag   string
	cfg   Config

	mu        sync.Mutex
	next      *span     // the next segment; nil: there is none
	idle      bool      // nothing is held: it was given back, or is taken on demand
	refilling bool      // a refill is under way
	line      list.List // of *waiter; nobody waits while there is a number
	failure   error     // of the last attempt to refill; nil: it succeeded
	ended     error     // what calls return since the end; nil: it has not ended
	top       int64     // every number that was handed out or is held is at or below it
	known     bool      // top is known
	back      bool      // a range was refused, and none is taken before the store is above top
	// how many sequences there are of which that is so, of those that share a store
	backs   *atomic.Int64
	telling bool        // announce is under way
	untold  bool        // something has changed since that has looked
	aging   *time.Timer // until the present segment is too old; nil: it does not age
	figures figures

	stop    chan struct{}   // closed when the sequence ends
	life    context.Context // of calls to the store
	cut     context.CancelFunc
	running sync.WaitGroup // refills
	closing sync.Once
	closed  error // what Close returned
}

// figures are what is measured, guarded by the sequence's lock.
type figures struct {
	base  int64     // the tag's own step; 0: not known
	based time.Time // when that was read
	most  int64     // the largest number of the tag; 0: not known
	next  int64     // of the store, when most was read
	step  int64     // the size of the last segment asked for; 0: there was none
	rate  float64   // numbers a second of late; 0: not known
	// since when that is measured: the present segment and those before it that lasted for less than
	// leastTime together
	since    time.Time
	used     int64         // what was used of the latter
	took     time.Duration // the last refill that succeeded
	refilled time.Time     // when that was
	refills  uint64        // that succeeded
	failures uint64        // attempts that did not
	before   uint64        // numbers issued from segments that are spent
}

// New returns a sequence of the numbers of a tag. It takes the first segment, or with OnDemand
// reads the tag, and tries again until ctx ends if the store cannot be reached. Errors are those of
// the store, see [Store], and wrap [ErrInvalidConfig] if the configuration or the tag is wrong.
// Close the sequence before the store.
func New(ctx context.Context, store Store, tag string, c Config) (*Sequence, error) {
	if store == nil {
		return nil, invalid("the store is nil")
	}
	if err := CheckTag(tag); err != nil {
		return nil, err
	}
	cfg, err := c.resolve()
	if err != nil {
		return nil, err
	}
	s := newSequence(store, tag, cfg.of(tag))
	if err := s.Ready(ctx); err != nil {
		s.end(ErrClosed)
		s.cut()
		s.running.Wait()
		return nil, err
	}
	return s, nil
}

// newSequence returns a sequence that has no segment yet.
func newSequence(store Store, tag string, cfg Config) *Sequence {
	s := &Sequence{
		store: store, tag: tag, cfg: cfg, backs: new(atomic.Int64),
		stop: make(chan struct{}), idle: cfg.OnDemand,
	}
	s.life, s.cut = context.WithCancel(context.Background())
	s.cur.Store(&span{})
	return s
}

// Tag is the name of the tag.
func (s *Sequence) Tag() string { return s.tag }

// Next returns the next number. If none is in memory it waits for a refill, at most RefillTimeout.
// The error is then ErrUnavailable, or at once what the store refuses with: ErrUnknownTag,
// ErrWentBack, ErrStoreChanged, ErrExhausted. After Close it is ErrClosed.
func (s *Sequence) Next() (int64, error) {
	p := s.cur.Load()
	n := p.used.Add(1)
	if n <= p.size && n != p.mark {
		return p.first + (n - 1), nil
	}
	return s.rare(p, n)
}

// rare is Next at the mark and at the end of a segment.
func (s *Sequence) rare(p *span, n int64) (int64, error) {
	if n <= p.size {
		s.need()
		return p.first + (n - 1), nil
	}
	limit := s.cfg.RefillTimeout
	ctx, cancel := context.WithTimeoutCause(context.Background(), limit, tooLate(limit))
	defer cancel()
	return s.NextContext(ctx)
}

// tooLate is why Next ends after a time. It is written out only where somebody reads it.
type tooLate time.Duration

func (t tooLate) Error() string { return fmt.Sprintf("no number within %v", time.Duration(t)) }

// NextContext is Next, and waits until ctx ends. A ctx that has ended does not matter while numbers
// are in memory.
func (s *Sequence) NextContext(ctx context.Context) (int64, error) {
	first, _, err := s.take(ctx, 1)
	return first, err
}

// atOnce is the context of a call that does not wait.
var atOnce = func() context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("a refill is under way"))
	return ctx
}()

// TryNext is Next, and never waits: if no number is in memory it starts a refill and returns
// ErrUnavailable. With OnDemand it starts nothing.
func (s *Sequence) TryNext() (int64, error) {
	return s.NextContext(atOnce)
}

// Fill fills dst with rising numbers, in runs that each take one atomic add. It waits as
// NextContext does. It returns how many numbers it wrote; with fewer than len(dst) comes the error.
func (s *Sequence) Fill(ctx context.Context, dst []int64) (int, error) {
	done := 0
	for done < len(dst) {
		first, n, err := s.take(ctx, int64(len(dst)-done))
		if err != nil {
			return done, err
		}
		run := dst[done : done+int(n)]
		for i := range run {
			run[i] = first + int64(i)
		}
		done += len(run)
	}
	return done, nil
}

// All returns an endless sequence of numbers, each with a nil error, that ends after the first
// error. It waits as NextContext does.
func (s *Sequence) All(ctx context.Context) iter.Seq2[int64, error] {
	return func(yield func(int64, error) bool) {
		for {
			n, err := s.NextContext(ctx)
			if !yield(n, err) || err != nil {
				return
			}
		}
	}
}

// Ready waits until a number can be had at once, or with OnDemand until the store has answered. It
// returns the store's refusal at once, and the last cause if ctx ends.
func (s *Sequence) Ready(ctx context.Context) error {
	if !s.cfg.OnDemand {
		_, _, err := s.turn(ctx, 0)
		return err
	}
	for attempt := 0; ; attempt++ {
		s.mu.Lock()
		ended := s.ended
		s.mu.Unlock()
		if ended != nil {
			return ended
		}
		call, cancel := s.cfg.bounded(ctx)
		err := s.look(call)
		cancel()
		if err == nil || refused(err) {
			return err
		}
		select {
		case <-time.After(s.pause(attempt)):
		case <-s.stop:
			return ErrClosed
		case <-ctx.Done():
			return fmt.Errorf("%w (%w)", err, context.Cause(ctx))
		}
	}
}
