package protocol

import (
	"fmt"
	"sync"

	"github.com/unalike-id/unalike/coord"
)

// CopiedError is the error of a grant whose window somebody else has extended until a tick,
// with the token and generation of its holder. It wraps [coord.ErrLeaseLost].
type CopiedError struct{ Until int64 }

func (e *CopiedError) Error() string {
	return fmt.Sprintf("%v: somebody else has extended its window to tick %d: there is a copy of this process, or of its memory", coord.ErrLeaseLost, e.Until)
}

// Unwrap returns [coord.ErrLeaseLost].
func (e *CopiedError) Unwrap() error { return coord.ErrLeaseLost }

// Extent is how far one holder has ever asked for a window to reach. What is stored and
// reaches further was asked for by somebody else: by a copy of the holder, which has the
// same token and generation. It goes from a grant to the next one that a renewal returns.
//
// The nil Extent is that of a grant of which nobody knows what was asked for. Its methods
// are safe for concurrent use.
type Extent struct {
	mu     sync.Mutex
	until  int64
	asking map[*int64]struct{} // by requests that are under way
}

// NewExtent returns the extent of a window that ends at a tick.
func NewExtent(until int64) *Extent {
	return &Extent{until: until, asking: map[*int64]struct{}{}}
}

// Asks notes until when the window is about to be asked to reach. The function that it
// returns is called after that, with whether the window may reach there now: it does not
// only if the request was certainly refused.
func (e *Extent) Asks(until int64) (answered func(may bool)) {
	if e == nil {
		return func(bool) {}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	ask := &until
	e.asking[ask] = struct{}{}
	return func(may bool) {
		if may {
			e.Reaches(until)
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.asking, ask)
	}
}

// Reaches notes that the window reaches a tick, or may.
func (e *Extent) Reaches(until int64) {
	if e == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.until = max(e.until, until)
}

// Until returns the last tick until which the window was ever asked to reach. Known is false
// for the nil Extent.
func (e *Extent) Until() (until int64, known bool) {
	if e == nil {
		return 0, false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	until = e.until
	for ask := range e.asking {
		until = max(until, *ask)
	}
	return until, true
}
