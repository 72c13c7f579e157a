package filestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"sync/atomic"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
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
	// Begin is that of a [protocol.Survey].
	Begin int64
}

// Store is a namespace in a file. It is safe for concurrent use.
type Store struct {
	path, namespace string
	clock           clock.Clock
	leases          Leases
	begin           int64
	first           atomic.Int64 // see SetFirst
	disk            disk

	turn chan struct{}       // held by whoever uses the file: a hung disk stops one goroutine
	now  atomic.Pointer[use] // the last use

	resolved atomic.Pointer[string] // the path without symbolic links; nil: not looked at yet
	unsure   bool                   // the last write failed: what the file says may not be on the disk; for whoever has the turn
}

// Leases say which owner marks stand. Path is the file's, without symbolic links; empty: there is
// none.
type Leases interface {
	// Refresh deletes the marks that are over, and refuses a state that this process may not use.
	// A visitor is an operator, who may use any.
	Refresh(path string, d *State, visitor bool) error
	// Take gets the lease of a worker ID for a token, or an error; undo gives it back.
	Take(path string, worker int, token string) (undo func(), err error)
	// Free gives the lease of a worker ID back, and End those of a token.
	Free(worker int, token string)
	End(token string)
	// Holds reports whether a token has the lease of a worker ID here.
	Holds(worker int, token string) bool
	// Ends is when a lease ends that is renewed now, and Left what is left of one; negative: it
	// does not end by time.
	Ends(ttl time.Duration) int64
	Left(ends int64) time.Duration
}

// State is what a file says, for [Leases].
type State = state

// Mark is an owner mark of a [State].
type Mark = mark

// New returns the store of a file, which is made when it is needed. It touches no file.
func New(o Options) *Store {
	s := &Store{path: o.Path, namespace: o.Namespace, clock: o.Clock, leases: o.Leases, begin: o.Begin, disk: realDisk(), turn: make(chan struct{}, 1)}
	s.first.Store(-1)
	return s
}

// SetFirst says which worker ID is the first that the file is for. One that is for another is
// refused from then on.
func (s *Store) SetFirst(worker int) { s.first.Store(int64(worker)) }

// Path returns the path of the file, without symbolic links if it has been looked at; empty: there
// is none.
func (s *Store) Path() string {
	if path := s.resolved.Load(); path != nil {
		return *path
	}
	return s.path
}

// memories are the namespaces without a file. They have to be the process's: two coordinators
// that know nothing of each other must not grant one worker ID twice.
var memories = struct {
	sync.Mutex
	states map[string]*state
}{states: map[string]*state{}}

func newState(namespace string) *state {
	return &state{Namespace: namespace, First: -1, Slots: map[int]entry{}, Marks: map[int]mark{}}
}

// with calls f with what is stored, and stores what f has made of it if f says that it has changed
// anything. It returns when ctx ends; what is under way then goes on, and the next call waits for
// its end.
func with[T any](ctx context.Context, s *Store, visitor bool, f func(*state) (T, bool, error)) (T, error) {
	return inTurn(ctx, s, func() (value T, err error) {
		err = s.update(ctx, visitor, func(d *state) (changed bool, err error) {
			value, changed, err = f(d)
			return changed, err
		})
		return value, err
	})
}

// peek calls f with what is stored, without the lock: files are replaced whole.
func peek[T any](ctx context.Context, s *Store, f func(*state) (T, error)) (T, error) {
	if s.path == "" {
		return with(ctx, s, true, func(d *state) (T, bool, error) {
			value, err := f(d)
			return value, false, err
		})
	}
	return inTurn(ctx, s, func() (value T, err error) {
		d, err := s.load(true)
		if err == nil {
			value, err = f(d)
		}
		return value, err
	})
}

// errNoFile is the error of an operator where there is no file.
var errNoFile = fmt.Errorf("%w: a coordinator without a state file cannot tell who holds its worker IDs; name the state file", coord.ErrInvalid)

// inTurn calls f in a goroutine of its own, one at a time, and returns when ctx ends.
func inTurn[T any](ctx context.Context, s *Store, f func() (T, error)) (T, error) {
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return *new(T), s.late(ctx, s.now.Load())
	}
	type answer struct {
		value T
		err   error
	}
	answers, now := make(chan answer, 1), &use{began: lifetime.Now()}
	s.now.Store(now)
	go func() {
		defer func() { <-s.turn }()
		value, err := f()
		answers <- answer{value, err}
	}()
	select {
	case a := <-answers:
		return a.value, a.err
	case <-ctx.Done():
		return *new(T), s.late(ctx, now)
	}
}

// use is what whoever has the turn does.
type use struct {
	began time.Time
	held  atomic.Pointer[filelock.HeldError] // who has the lock that it waits for; nil: it waits for the disk
}

// late is the error of a call whose context has ended during a use of the file; nil: it has begun none.
func (s *Store) late(ctx context.Context, u *use) error {
	if u == nil {
		return ctx.Err()
	}
	if held := u.held.Load(); held != nil {
		return fmt.Errorf("%w: state file %q: %w; if that process is stopped, let it go on or end it", ctx.Err(), s.path, held)
	}
	return fmt.Errorf("%w: state file %q: its disk has not answered for %v", ctx.Err(), s.path, lifetime.Since(u.began).Round(time.Millisecond))
}

// update reads the state, has f change it, and stores it.
func (s *Store) update(ctx context.Context, visitor bool, f func(*state) (changed bool, err error)) error {
	if s.path == "" {
		return s.remember(f)
	}
	lock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer lock.Unlock()
	d, err := s.load(visitor)
	if err != nil {
		return err
	}
	changed, err := f(d)
	if err == nil && (changed || s.unsure) {
		err = s.save(d, lock)
	}
	if d.ended != nil {
		d.ended(err == nil)
	}
	return err
}

// remember is update for a namespace in memory.
func (s *Store) remember(f func(*state) (changed bool, err error)) error {
	memories.Lock()
	defer memories.Unlock()
	d := memories.states[s.namespace]
	if d == nil {
		d = newState(s.namespace)
		memories.states[s.namespace] = d
	}
	err := s.leases.Refresh("", d, false)
	if err == nil {
		_, err = f(d)
	}
	if d.ended != nil {
		d.ended(err == nil)
		d.ended = nil
	}
	return err
}

// lock waits for the lock of the file.
func (s *Store) lock(ctx context.Context) (*filelock.File, error) {
	path, err := s.resolve()
	if err != nil {
		return nil, err
	}
	for {
		lock, err := filelock.Lock(path + ".lock")
		held, busy := errors.AsType[*filelock.HeldError](err)
		switch {
		case !busy && err != nil:
			return nil, failed(path, err)
		case !busy:
			s.now.Load().held.Store(nil)
			return lock, nil
		}
		s.now.Load().held.Store(held)
		if err := lifetime.Pause(ctx, 1); err != nil {
			return nil, err // nobody waits for it any more
		}
	}
}

// load reads the state and deletes the marks that are over.
func (s *Store) load(visitor bool) (*state, error) {
	path, err := s.resolve()
	if err != nil {
		return nil, err
	}
	d, err := s.disk.read(path)
	first := s.first.Load()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		d = newState(s.namespace)
	case err != nil:
		return nil, err
	case d.Namespace != s.namespace, first >= 0 && d.First >= 0 && d.First != int(first):
		return nil, fmt.Errorf("%w state file %q: it belongs to namespace %q%s; it is wanted for namespace %q%s; give each a state file of its own",
			coord.ErrInvalid, path, d.Namespace, since(d.First), s.namespace, since(int(first)))
	}
	if err := s.leases.Refresh(path, d, visitor); err != nil {
		return nil, fmt.Errorf("%w state file %q: %w; once no program uses it elsewhere, 'unalike quarantine --coordinator file://%s' takes it over", coord.ErrInvalid, path, err, path)
	}
	return d, nil
}

// since names the first worker ID of a file; nothing if it is for all.
func since(first int) string {
	if first < 0 {
		return ""
	}
	return fmt.Sprintf(", worker ID %d", first)
}

// save replaces the file. Until that has succeeded once more, what the file says may not be on
// the disk after a failure.
func (s *Store) save(d *state, lock *filelock.File) error {
	if first := s.first.Load(); first >= 0 {
		d.First = int(first)
	}
	b, err := format.Encode(d)
	if err != nil {
		return err
	}
	s.unsure = true
	if err := s.disk.replace(s.Path(), b, lock.Current); err != nil {
		return err
	}
	s.unsure = false
	return nil
}
