package static

import (
	"fmt"
	"os"
	"sync"

	"github.com/unalike-id/unalike/coord"
)

// registry is what this process knows of the worker IDs that it has held. It is
// the one mutable state of this package, and it has to be the process's: two
// coordinators that know nothing of each other must not hold one worker ID, and
// without a state file there is nothing else to find that out by. Entries are
// kept for as long as the process runs.
var registry = struct {
	sync.Mutex
	pairs   map[pair]*memory
	layouts map[string]string // fingerprint of each namespace
}{pairs: map[pair]*memory{}, layouts: map[string]string{}}

type pair struct {
	namespace string
	worker    int
}

// memory is what is remembered of a worker ID: the same as its state file says, or
// would say.
type memory struct {
	held       bool
	generation uint64 // 0: never granted
	notAfter   int64
	token      string // empty: released
	lastTick   int64  // of the layout
}

// claim takes the worker ID for the caller, within this process, and returns what
// is remembered of it. The caller gives it back with drop.
func (p pair) claim() (memory, error) {
	registry.Lock()
	defer registry.Unlock()
	m := registry.pairs[p]
	if m == nil {
		m = new(memory)
		registry.pairs[p] = m
	}
	if m.held {
		return memory{}, fmt.Errorf("%w: worker ID %d of namespace %q is held in this process already (process %d); use one generator for both, or give one another worker ID", coord.ErrNoWorkerID, p.worker, p.namespace, os.Getpid())
	}
	m.held = true
	return *m, nil
}

// look returns what is remembered of the worker ID, without taking it.
func (p pair) look() memory {
	registry.Lock()
	defer registry.Unlock()
	if m := registry.pairs[p]; m != nil {
		return *m
	}
	return memory{}
}

// settle makes layout that of the namespace, or returns a mismatch if it has
// another one already.
func (p pair) settle(layout string) error {
	registry.Lock()
	defer registry.Unlock()
	if known := registry.layouts[p.namespace]; known != "" && known != layout {
		return fmt.Errorf("in this process: %w", &coord.LayoutMismatchError{Namespace: p.namespace, Stored: known, Wanted: layout})
	}
	registry.layouts[p.namespace] = layout
	return nil
}

// layout returns that of the namespace; empty: it is not known.
func (p pair) layout() string {
	registry.Lock()
	defer registry.Unlock()
	return registry.layouts[p.namespace]
}

// remember keeps what was granted or stored. Only the caller of claim calls it.
func (p pair) remember(r record, lastTick int64) {
	registry.Lock()
	defer registry.Unlock()
	m := registry.pairs[p]
	m.generation, m.notAfter, m.token, m.lastTick = r.Generation, r.NotAfter, r.Token, lastTick
}

// drop gives the worker ID back.
func (p pair) drop() {
	registry.Lock()
	defer registry.Unlock()
	registry.pairs[p].held = false
}
