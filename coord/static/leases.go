package static

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/filelock"
	"github.com/unalike-id/unalike/internal/filestore"
)

// claims are the worker IDs that this process holds or has held, of all its coordinators: two that
// know nothing of each other, and have different state files or none, must not hold the same.
var claims = struct {
	sync.Mutex
	of map[claim]*history
}{of: map[claim]*history{}}

type claim struct {
	namespace string
	worker    int
}

// history is what this process knows of a worker ID.
type history struct {
	held bool
	from int64 // without a state file, the tick up to which a process before this one may have stamped
}

// known returns what this process knows of a worker ID. The caller holds the mutex of claims.
func (l *leases) known(worker int) *history {
	h := claims.of[claim{l.namespace, worker}]
	if h == nil {
		h = new(history)
		claims.of[claim{l.namespace, worker}] = h
	}
	return h
}

// leases are those of worker IDs whose holders have a lock for their life: a lease ends with its
// holder's process, however that ends. It implements [filestore.Leases].
type leases struct {
	namespace string

	mu    sync.Mutex
	share coord.Range   // that this coordinator was asked for last
	held  map[int]lease // by worker ID
	freed chan struct{} // closed when all are free that were given back
}

func newLeases(namespace string) *leases {
	l := &leases{namespace: namespace, held: map[int]lease{}, freed: make(chan struct{})}
	close(l.freed)
	return l
}

// lease is a worker ID that this coordinator holds.
type lease struct {
	token string
	lock  *filelock.File // nil: there is no state file
}

// lockPath is the path of the file whose lock says that a worker ID is held.
func lockPath(state string, worker int) string { return state + "." + strconv.Itoa(worker) + ".lock" }

// holder names who holds a worker ID; empty: nobody.
func (l *leases) holder(path string, worker int) (string, error) {
	claims.Lock()
	held := l.known(worker).held
	claims.Unlock()
	switch {
	case held:
		return fmt.Sprintf("worker ID %d of namespace %q is held in this process already (process %d); use one generator for both, or give one another worker ID", worker, l.namespace, os.Getpid()), nil
	case path == "":
		return "", nil
	}
	who, _, err := filelock.Look(lockPath(path, worker))
	if who == nil || err != nil {
		return "", err
	}
	return fmt.Sprintf("%v; stop it or give this process another worker ID", who), nil
}

// Refresh implements [filestore.Leases]: a mark stands if somebody has the lock, and whoever has it
// holds the worker ID.
func (l *leases) Refresh(path string, d *filestore.State, _ bool) error {
	share := l.settled()
	for id := range d.Marks {
		if id < share.First || id >= share.First+share.Count {
			if err := l.refresh(path, d, id); err != nil {
				return err
			}
		}
	}
	for id := share.First; id < share.First+share.Count; id++ {
		if err := l.refresh(path, d, id); err != nil {
			return err
		}
	}
	return nil
}

func (l *leases) refresh(path string, d *filestore.State, id int) error {
	mark, owned := d.Marks[id]
	if owned && mark.Token == "" {
		return nil // it is retired
	}
	who, err := l.holder(path, id)
	switch {
	case err != nil:
		return err
	case who == "":
		delete(d.Marks, id)
	case !owned:
		d.Marks[id] = filestore.Mark{Token: "-"} // it is not known
	}
	return nil
}

// Take implements [filestore.Leases].
func (l *leases) Take(path string, worker int, token string) (undo func(), err error) {
	if l.Holds(worker, token) {
		return func() {}, nil
	}
	l.drop(func(id int, _ lease) bool { return id == worker })
	l.settled()
	if !l.claim(worker, true) {
		return nil, errors.New("the worker ID is held in this process already")
	}
	var lock *filelock.File
	if path != "" {
		if lock, err = filelock.Lock(lockPath(path, worker)); err != nil {
			l.claim(worker, false)
			return nil, err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held[worker] = lease{token, lock}
	return func() { l.Free(worker, token) }, nil
}

// claim notes that a worker ID is held in this process, or is not any more. It reports whether that
// is a change.
func (l *leases) claim(worker int, held bool) bool {
	claims.Lock()
	defer claims.Unlock()
	h := l.known(worker)
	was := h.held
	h.held = held
	return was != held
}

// Free implements [filestore.Leases].
func (l *leases) Free(worker int, token string) {
	l.drop(func(id int, h lease) bool { return id == worker && h.token == token })
	l.settled()
}

// End implements [filestore.Leases].
func (l *leases) End(token string) { l.drop(func(_ int, h lease) bool { return h.token == token }) }

// close gives all leases back, and waits until they are.
func (l *leases) close() {
	l.drop(func(int, lease) bool { return true })
	l.settled()
}

// settled waits until all leases are free that were given back, and returns the share.
func (l *leases) settled() coord.Range {
	l.mu.Lock()
	share, freed := l.share, l.freed
	l.mu.Unlock()
	<-freed
	return share
}

// drop gives leases back, behind the caller: a disk may hang.
func (l *leases) drop(which func(worker int, h lease) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for worker, h := range l.held {
		if !which(worker, h) {
			continue
		}
		delete(l.held, worker)
		if h.lock == nil {
			l.claim(worker, false)
			continue
		}
		before, freed := l.freed, make(chan struct{})
		l.freed = freed
		go func() {
			defer close(freed)
			<-before
			h.lock.Unlock()
			l.claim(worker, false)
		}()
	}
}

// Holds implements [filestore.Leases].
func (l *leases) Holds(worker int, token string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	h, ok := l.held[worker]
	return ok && h.token == token && (h.lock == nil || h.lock.Current())
}

// Ends implements [filestore.Leases].
func (*leases) Ends(time.Duration) int64 { return math.MaxInt64 }

// Left implements [filestore.Leases].
func (*leases) Left(int64) time.Duration { return -1 }

// explain adds to an error who holds the worker IDs of a share.
func (l *leases) explain(err error, path string, share coord.Range) error {
	for id := share.First; id < share.First+share.Count; id++ {
		if who, _ := l.holder(path, id); who != "" {
			err = fmt.Errorf("%w; %s", err, who)
		}
	}
	return err
}

// after returns a grant of a worker ID without a state file, which begins where a process before
// this one can have stamped no more: that was until a tick, if the grant is the first one of all.
func (l *leases) after(g coord.Grant, until int64) coord.Grant {
	claims.Lock()
	defer claims.Unlock()
	h := l.known(g.WorkerID)
	if h.from == 0 {
		h.from = until
	}
	g.NotBefore = min(max(g.NotBefore, h.from), g.NotAfter)
	return g
}
