package static

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/filelock"
	"github.com/unalike-id/unalike/internal/filestore"
	"github.com/unalike-id/unalike/internal/statefile"
)

// held are the worker IDs that this process holds, of all its coordinators: two that know nothing
// of each other, and have different state files or none, must not hold the same.
var held = struct {
	sync.Mutex
	by map[worker]lease
}{by: map[worker]lease{}}

type worker struct {
	namespace string
	id        int
}

// lease is a worker ID that is held.
type lease struct {
	owner   *leases
	session context.Context
	lock    *filelock.File // nil: there is no state file
}

// leases are those of worker IDs whose holders have a lock for their life: a lease ends with its
// holder's process, however that ends. It implements [filestore.Leases].
type leases struct {
	namespace string

	// Guarded by held: the share that this coordinator was asked for last, and the state file as
	// it was found last.
	share coord.Range
	path  string
}

// use notes which worker IDs are this coordinator's.
func (l *leases) use(share coord.Range) {
	held.Lock()
	defer held.Unlock()
	l.share = share
}

// lockPath is the path of the file whose lock says that a worker ID is held.
func lockPath(state string, id int) string { return state + "." + strconv.Itoa(id) + ".lock" }

// here reports whether a worker ID is held in this process.
func (l *leases) here(id int) bool {
	held.Lock()
	defer held.Unlock()
	_, here := held.by[worker{l.namespace, id}]
	return here
}

// holder names who holds a worker ID; empty: nobody.
func (l *leases) holder(id int) (string, error) {
	held.Lock()
	path := l.path
	held.Unlock()
	switch {
	case l.here(id):
		return fmt.Sprintf("worker ID %d of namespace %q is held in this process already (process %d); "+
			"use one generator for both, or give one another worker ID", id, l.namespace, os.Getpid()), nil
	case path == "":
		return "", nil
	}
	who, _, err := filelock.Look(lockPath(path, id))
	if who == nil || err != nil {
		return "", err
	}
	return fmt.Sprintf("%v; stop it or give this process another worker ID", who), nil
}

// Refresh implements [filestore.Leases]: a mark stands if somebody has the lock, and whoever has it
// holds the worker ID.
func (l *leases) Refresh(path string, d *filestore.State, _ bool) error {
	held.Lock()
	share := l.share
	l.path = path
	held.Unlock()
	switch {
	case d.Home != statefile.Home{}:
		return errors.New("it is one of file://, which leases worker IDs for a time; name another file")
	case d.First < 0 && share.Count > 0:
		d.First = share.First
	case path != "" && share.Count > 0 && d.First != share.First:
		return fmt.Errorf("it belongs to namespace %q, worker ID %d; it is wanted for namespace %[1]q, "+
			"worker ID %[3]d; give each a state file of its own", l.namespace, d.First, share.First)
	}
	for id := share.First; id < share.First+share.Count; id++ {
		if _, marked := d.Marks[id]; !marked {
			d.Marks[id] = filestore.Mark{Token: "-"} // it is not known who may have the lock
		}
	}
	for id, mark := range d.Marks {
		if mark.Token == "" || l.here(id) {
			continue // it is retired, or held in this process
		}
		who, err := l.holder(id)
		if err != nil {
			return err
		}
		if who == "" {
			delete(d.Marks, id)
		}
	}
	return nil
}

// Take implements [filestore.Leases].
func (l *leases) Take(session context.Context, id int) (err error) {
	l.Free(id)
	mine := lease{owner: l, session: session}
	if l.path != "" { // which nobody changes meanwhile: the store does one thing at a time
		if mine.lock, err = filelock.Lock(lockPath(l.path, id)); err != nil { //mutant:static-lock
			return err
		}
	}
	held.Lock()
	defer held.Unlock()
	_, taken := held.by[worker{l.namespace, id}]
	if taken || session.Err() != nil {
		mine.free()
		return fmt.Errorf("worker ID %d was taken in this process meanwhile, or nobody waits for "+
			"it any more", id)
	}
	held.by[worker{l.namespace, id}] = mine
	return nil
}

func (h lease) free() {
	if h.lock != nil {
		h.lock.Unlock()
	}
}

// Free implements [filestore.Leases].
func (l *leases) Free(id int) { l.drop(func(w worker, _ lease) bool { return w.id == id }) }

// End implements [filestore.Leases].
func (l *leases) End() { l.drop(func(_ worker, h lease) bool { return h.session.Err() != nil }) }

// drop gives leases of this coordinator back.
func (l *leases) drop(which func(worker, lease) bool) {
	held.Lock()
	defer held.Unlock()
	for w, h := range held.by {
		if h.owner == l && which(w, h) {
			delete(held.by, w)
			h.free()
		}
	}
}

// Holds implements [filestore.Leases].
func (l *leases) Holds(id int) bool {
	held.Lock()
	h := held.by[worker{l.namespace, id}]
	held.Unlock()
	return h.owner == l && (h.lock == nil || h.lock.Current())
}

// Now implements [filestore.Leases].
func (*leases) Now() int64 { return 0 }

// explain adds to an error who holds the worker IDs of a share.
func (l *leases) explain(err error, share coord.Range) error {
	for id := share.First; id < share.First+share.Count; id++ {
		if who, _ := l.holder(id); who != "" {
			err = fmt.Errorf("%w; %s", err, who)
		}
	}
	return err
}
