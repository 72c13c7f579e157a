package segment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// refreshEvery is how often the list of tags is read.
	refreshEvery = 60 * time.Second
	// refreshAgain is how soon it is read again after that has failed.
	refreshAgain = 5 * time.Second
	// refreshPause is how much time passes at least between two readings, however many unknown tags
	// are asked for.
	refreshPause = time.Second
	// closers is how many sequences are closed at a time.
	closers = 8
	// mostEnded is of how many tags that were deleted it is remembered how far they got.
	mostEnded = 10_000
)

// Set is the sequences of all tags of a store. It is safe for concurrent use. Make it with
// [NewSet].
type Set struct {
	all   atomic.Pointer[map[string]*Sequence]
	store Store
	cfg   Config
	backs atomic.Int64 // see Sequence

	mu      sync.Mutex
	refresh *refresh         // the next reading of the list
	ends    map[string]int64 // of tags that were deleted: above what they begin if they are made again
	unread  error            // why the list could not be read when that was tried last
	closed  bool

	making chan struct{} // has one while a tag is made, who guards what follows
	minute time.Time     // since when made is counted
	made   int           // how many tags were made

	wanted  chan struct{} // has one if somebody waits for the next reading
	life    context.Context
	cut     context.CancelFunc
	running sync.WaitGroup
	closing sync.Once
	err     error // what Close returned
}

// refresh is one reading of the list, which all who need it wait for.
type refresh struct {
	done chan struct{}
	err  error
}

func newRefresh() *refresh { return &refresh{done: make(chan struct{})} }

// NewSet returns the sequences of all tags of a store. It reads the list of tags, which ends with
// ctx; the first segment of a tag is taken when its first number is asked for. Tags that are made
// later work at once, those that are deleted end within a minute. Close the set before the store.
func NewSet(ctx context.Context, store Store, c Config) (*Set, error) {
	if store == nil {
		return nil, invalid("the store is nil")
	}
	cfg, err := c.resolve()
	if err != nil {
		return nil, err
	}
	if _, creates := store.(Creator); cfg.CreatePerMinute > 0 && !creates {
		return nil, invalid("CreatePerMinute is %d, and the store cannot make tags; 0 is allowed",
			cfg.CreatePerMinute)
	}
	s := &Set{
		store: store, cfg: cfg, ends: map[string]int64{},
		refresh: newRefresh(), wanted: make(chan struct{}, 1), making: make(chan struct{}, 1),
	}
	s.life, s.cut = context.WithCancel(context.Background())
	s.all.Store(&map[string]*Sequence{})
	if err := s.reload(ctx); err != nil {
		s.cut()
		return nil, err
	}
	s.running.Go(s.keep)
	return s, nil
}

// Next returns the next number of a tag, as [Sequence.NextContext] does. The error is ErrUnknownTag
// if the store does not have the tag, which is spelled as the store spells it.
func (s *Set) Next(ctx context.Context, tag string) (int64, error) {
	q, err := s.Sequence(ctx, tag)
	if err != nil {
		return 0, err
	}
	return q.NextContext(ctx)
}

// Fill fills dst with numbers of a tag, as [Sequence.Fill] does.
func (s *Set) Fill(ctx context.Context, tag string, dst []int64) (int, error) {
	q, err := s.Sequence(ctx, tag)
	if err != nil {
		return 0, err
	}
	return q.Fill(ctx, dst)
}

// Sequence returns the sequence of a tag. It belongs to the set, which closes it. A tag that is not
// known has the list read again, once a second at most however many there are, and is made if
// Config says so.
func (s *Set) Sequence(ctx context.Context, tag string) (*Sequence, error) {
	if q := (*s.all.Load())[tag]; q != nil {
		return q, nil
	}
	if err := CheckTag(tag); err != nil {
		return nil, err
	}
	if of, _, ok := GroupOf(tag); ok && (*s.all.Load())[of] != nil {
		return nil, fmt.Errorf("%w: %q is a group of the tag %q; use Groups for it", ErrUnknownTag, tag,
			of)
	}
	for make := true; ; make = false {
		if err := s.reread(ctx); err != nil {
			return nil, err
		}
		if q := (*s.all.Load())[tag]; q != nil {
			return q, nil
		}
		if !make || s.cfg.CreatePerMinute == 0 {
			return nil, fmt.Errorf("%w: %q; make it in the store, with 'unalike segments create' "+
				"for example", ErrUnknownTag, tag)
		}
		if err := s.create(ctx, tag); err != nil {
			return nil, err
		}
	}
}

// create makes a tag, unless too many were made a moment ago.
func (s *Set) create(ctx context.Context, tag string) error {
	select {
	case s.making <- struct{}{}: // one at a time: what somebody else has made meanwhile is there
		defer func() { <-s.making }()
	case <-ctx.Done():
		return fmt.Errorf("%w: tag %q: others are made: %w", ErrUnavailable, tag, context.Cause(ctx))
	}
	ctx, cancel := s.cfg.bounded(ctx)
	defer cancel()
	if time.Since(s.minute) >= time.Minute {
		s.minute, s.made = time.Now(), 0
	}
	if most := s.cfg.CreatePerMinute; s.made >= most {
		if _, err := s.store.Tag(ctx, tag); err == nil {
			return nil
		}
		return fmt.Errorf("%w: %q; no more than %d tags are made a minute, which CreatePerMinute says",
			ErrUnknownTag, tag, most)
	}
	err := s.store.(Creator).Create(ctx, Tag{
		Name: tag, Next: 1, Step: cmp.Or(s.cfg.Step, DefaultStep), Since: time.Unix(0, 0),
	})
	if errors.Is(err, ErrTagExists) {
		return nil
	}
	if err == nil {
		s.made++
		return nil
	}
	if !refused(err) {
		err = fmt.Errorf("%w: tag %q: making it: %w", ErrUnavailable, tag, err)
	}
	return err
}

// Tags lists the tags that are known, in alphabetical order.
func (s *Set) Tags() []string { return slices.Sorted(maps.Keys(*s.all.Load())) }

// Health returns a snapshot of each sequence, in the order of Tags.
func (s *Set) Health() []Health {
	all := *s.all.Load()
	var h []Health
	for _, tag := range slices.Sorted(maps.Keys(all)) {
		h = append(h, all[tag].Health())
	}
	return h
}

// Check returns nil if numbers can be had, and otherwise why the store gives none. It never calls
// the store: it knows what the refills and the readings of the list gave, of which there is one a
// minute. A tag that has numbers in memory can be used while the store is away, and one that the
// store refuses is no reason for an error unless it refuses all.
func (s *Set) Check() error {
	all := *s.all.Load()
	var away, refusal error
	refused := 0
	for _, q := range all {
		left, failure := q.supply()
		if left {
			return nil
		}
		if errors.Is(failure, ErrUnavailable) {
			away = failure
		} else if failure != nil {
			refusal = failure
			refused++
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return ErrClosed
	case away != nil:
		return away
	case refusal != nil && refused == len(all): //mutant:segment-all-refused
		return refusal
	}
	return s.unread
}

// Close closes all sequences, see [Sequence.Close]. ctx bounds the call. After a store could not be
// reached for one tag, nothing is given back of the others.
func (s *Set) Close(ctx context.Context) error {
	s.closing.Do(func() {
		s.mu.Lock()
		s.closed = true
		s.mu.Unlock()
		s.cut()
		s.running.Wait()
		s.err = closeAll(ctx, slices.Collect(maps.Values(*s.all.Load())))
		s.all.Store(&map[string]*Sequence{})
	})
	return s.err
}

// closeAll closes sequences, some at a time, and returns the first error.
func closeAll(ctx context.Context, all []*Sequence) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	errs := make([]error, len(all))
	places := make(chan struct{}, closers)
	var running sync.WaitGroup
	for i, q := range all {
		places <- struct{}{}
		running.Go(func() {
			if err := q.Close(ctx); err != nil {
				errs[i] = fmt.Errorf("tag %q: %w", q.tag, err)
				if !refused(err) {
					cancel(err) //mutant:segment-set-close
				}
			}
			<-places
		})
	}
	running.Wait()
	return cmp.Or(errs...)
}

// Stored lists the tags as the store has them now. It calls the store, and ends with ctx or after
// RefillTimeout.
func (s *Set) Stored(ctx context.Context) ([]Tag, error) {
	ctx, cancel := s.cfg.bounded(ctx)
	defer cancel()
	tags, err := s.store.Tags(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: the list of tags: %w", ErrUnavailable, err)
	}
	return tags, nil
}
