package filestore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/internal/filelock"
	"github.com/unalike-id/unalike/internal/lifetime"
)

// Options say which file a store is in, and how.
type Options struct {
	// Path is the file's. Its folder must exist. Empty: the namespace is kept in the memory of
	// this process, for whoever uses the same name.
	Path      string
	Namespace string
	Clock     clock.Clock
	Leases    Leases
	// Mark keeps a file next to the state file, by which an older copy of that is noticed, see
	// [Store.Numbers].
	Mark bool
	// Fresh tells a new file from a lost one. If the file is missing and the lock file carries no
	// mark, a namespace begins as if it was declared new; if the lock file carries a mark, it begins
	// with the floor of a loss. It is for files that never move to another machine: there, the
	// lock file is missing as well.
	Fresh bool
}

// Leases say which owner marks stand.
type Leases interface {
	// Refresh comes before everything else. It deletes the marks that are over, and refuses a
	// state that this process may not use. Path is the file's, without symbolic links; empty:
	// there is none. Foreign says that another machine may have written it: an operator reads
	// it, or takes it over.
	Refresh(path string, d *State, foreign bool) error
	// Take gets the lease of a worker ID for as long as the context of a session lives.
	Take(session context.Context, worker int) error
	// Free gives the lease of a worker ID back, and End those of sessions that are over. Neither
	// blocks.
	Free(worker int)
	End()
	// Holds reports whether the lease of a worker ID is held here.
	Holds(worker int) bool
	// Now is the clock by which leases end, in microseconds; 0: they do not end by time.
	Now() int64
}

// Store is a namespace in a file. It is safe for concurrent use.
type Store struct {
	o    Options
	disk disk
	life context.Context // of all sessions
	end  context.CancelFunc

	held atomic.Pointer[filelock.HeldError] // who has the lock that is waited for; nil: nobody

	mu    sync.Mutex
	queue []*op // calls that wait

	// turn is held by the goroutine of serve, which uses the fields below. A hung disk stops only it.
	turn   chan struct{}
	path   string // without symbolic links; empty: not looked at yet
	unsure bool   // the last write failed: what the file says may not be on the disk
	stored []byte // the content that was written last
	state  *State // decoded from stored; nil: the file must be decoded
	count  int64  // the highest Count that was seen, if there is a mark
	// missing is true if the file was not there when it was read, and the lock file was not marked
	// since. Then fresh or lost is true as well under the lock, see [Options.Fresh].
	missing, fresh, lost bool
}

// New returns the store of a file, which is made when it is needed. It touches no file.
func New(o Options) *Store {
	s := &Store{o: o, disk: realDisk(), turn: make(chan struct{}, 1)}
	s.life, s.end = context.WithCancel(context.Background())
	return s
}

// Close ends all sessions, and gives their leases back where these do not end by time. It does not
// block.
func (s *Store) Close() {
	s.end()
	s.o.Leases.End()
}

// access says what is done with a file.
type access int

const (
	look   access = iota // it is read, without the lock: files are replaced whole
	change               // it is read and written under the lock
	adopt                // as change, by an operator also if it came from another machine
)

// op is what one call does with the file.
type op struct {
	ctx     context.Context //nolint:containedctx // of the caller, who waits until it ends
	to      access
	foreign bool
	run     func(d *State) (changed bool) // in memory
	stored  func(err error)               // called with the result of the write; may be nil
	err     error
	done    chan struct{} // closed when err is set
}

// with has f read the state, or change it, and returns once the change is stored. Stored, unless
// nil, receives the result of the write while the file is still locked. With also returns when ctx
// ends: f may run later then, or have run, and other calls wait for its end.
//
// Calls that wait at the same time share one read and one write of the file.
func with[T any](ctx context.Context, s *session, to access,
	f func(d *State) (value T, changed bool, err error), stored func(err error),
) (T, error) {
	var value T
	var err error
	o := &op{
		ctx: ctx, to: to, foreign: s.token == "" && to != change, stored: stored,
		done: make(chan struct{}),
	}
	o.run = func(d *State) (changed bool) {
		value, changed, err = f(d)
		return changed && err == nil
	}
	s.mu.Lock()
	s.queue = append(s.queue, o)
	select {
	case s.turn <- struct{}{}:
		go s.serve()
	default:
	}
	s.mu.Unlock()
	select {
	case <-o.done:
		return value, cmp.Or(o.err, err)
	case <-ctx.Done():
		s.mu.Lock()
		s.queue = slices.DeleteFunc(s.queue, func(waiting *op) bool { return waiting == o })
		s.mu.Unlock()
		return *new(T), s.timeoutError(ctx)
	}
}

// serve runs waiting calls until the queue is empty. The first one decides which kind is next.
func (s *Store) serve() {
	for {
		s.mu.Lock()
		if len(s.queue) == 0 {
			<-s.turn //mutant:file-hung
			s.mu.Unlock()
			return
		}
		var batch, rest []*op
		for _, o := range s.queue {
			if first := s.queue[0]; o.to == first.to && o.foreign == first.foreign {
				batch = append(batch, o)
			} else {
				rest = append(rest, o)
			}
		}
		s.queue = rest
		s.mu.Unlock()
		s.serveAll(batch)
	}
}

// serveAll runs calls of one kind with one read and at most one write. If that fails, each of them
// fails, because what it has read may not be stored.
func (s *Store) serveAll(batch []*op) {
	s.held.Store(nil)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var waiting atomic.Int64
	waiting.Store(int64(len(batch)))
	for _, o := range batch {
		defer context.AfterFunc(o.ctx, func() {
			if waiting.Add(-1) == 0 {
				cancel()
			}
		})()
	}
	err := s.use(ctx, batch[0].to, batch[0].foreign, func(d *State, save func() error) (err error) {
		changed := false
		for _, o := range batch {
			if o.ctx.Err() != nil { //mutant:file-call-over
				o.err = s.timeoutError(o.ctx)
				continue
			}
			changed = o.run(d) || changed
		}
		if changed {
			err = save()
		}
		for _, o := range batch { // before another process can use the file
			if o.stored != nil {
				o.stored(err)
			}
		}
		return err
	})
	for _, o := range batch {
		o.err = cmp.Or(o.err, err)
		close(o.done)
	}
}

// timeoutError is the error of a call whose context has ended.
func (s *Store) timeoutError(ctx context.Context) error {
	if held := s.held.Load(); held != nil {
		return fmt.Errorf("%w: state file %q: %w; if that process is stopped, let it go on or end it",
			ctx.Err(), s.o.Path, held)
	}
	return fmt.Errorf("%w: state file %q: its disk has not answered in time", ctx.Err(), s.o.Path)
}

// memories are the namespaces without a file. They have to be the process's: two coordinators
// that know nothing of each other must not grant one worker ID twice.
var memories = struct {
	sync.Mutex
	states map[string]*State
}{states: map[string]*State{}}

// use has f use the file, or what there is instead. Foreign says that another machine may have
// written it.
func (s *Store) use(ctx context.Context, to access, foreign bool,
	f func(d *State, save func() error) error,
) error {
	if s.o.Path == "" {
		memories.Lock()
		defer memories.Unlock()
		d := memories.states[s.o.Namespace]
		if d == nil {
			d = newState(s.o.Namespace)
			memories.states[s.o.Namespace] = d
		}
		if err := s.o.Leases.Refresh("", d, foreign); err != nil {
			return err
		}
		return f(d, func() error { return nil })
	}
	if err := s.resolve(); err != nil {
		return err
	}
	// Windows replaces no file that somebody reads.
	if s.unsure || runtime.GOOS == "windows" {
		to = max(to, change)
	}
	var lock *filelock.File
	var err error
	if to != look {
		if lock, err = s.lock(ctx); err != nil {
			return err
		}
		defer lock.Unlock()
	}
	d, err := s.load(foreign)
	if err != nil {
		return err
	}
	s.fresh, s.lost = false, false
	if s.o.Fresh && s.missing && lock != nil {
		s.lost = lock.Marked() //mutant:file-fresh
		s.fresh = !s.lost
	}
	if s.o.Mark && to != look {
		if err := s.checkMark(d); err != nil && !(foreign && errors.Is(err, ErrOther)) {
			return err
		}
	}
	save := func() error { return s.save(d, lock) }
	//mutant:file-sync-failed
	if s.unsure { // the file is written once more before anybody believes it
		if err := save(); err != nil {
			return err
		}
	}
	return f(d, save)
}

// lock waits for the lock of the file, until nobody waits for it any more.
func (s *Store) lock(ctx context.Context) (*filelock.File, error) {
	for {
		lock, err := filelock.Lock(s.path + ".lock")
		held, busy := errors.AsType[*filelock.HeldError](err)
		s.held.Store(held)
		if !busy {
			return lock, failed(s.path, err)
		}
		if err := lifetime.Pause(ctx, 1); err != nil {
			return nil, err
		}
	}
}
