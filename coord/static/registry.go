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
	pairs map[pair]*memory
}{pairs: map[pair]*memory{}}

type pair struct {
	namespace string
	worker    int
}

// memory is what is remembered of a worker ID: the same as its state file says, or
// would say.
type memory struct {
	held       bool
	layout     string // fingerprint; empty: never granted
	generation uint64
	notAfter   int64
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

// remember keeps what was granted or stored. Only the caller of claim calls it.
func (p pair) remember(layout string, generation uint64, notAfter int64) {
	registry.Lock()
	defer registry.Unlock()
	m := registry.pairs[p]
	m.layout, m.generation, m.notAfter = layout, generation, notAfter
}

// drop gives the worker ID back.
func (p pair) drop() {
	registry.Lock()
	defer registry.Unlock()
	registry.pairs[p].held = false
}
