package protocol

import (
	"sync"

	"github.com/unalike-id/unalike/coord"
)

// extent is how far one holder has ever asked for a window to reach. What is stored and
// reaches further was asked for by somebody else: by a copy of the holder, which has the
// same token and generation. It goes from a grant to the next one that a renewal returns.
//
// The nil extent is that of a grant of which nobody knows what was asked for. Its methods
// are safe for concurrent use.
type extent struct {
	mu    sync.Mutex
	until int64 // where the window may reach
	asked int64 // by requests that are under way, of which there are
	under int
}

// asks notes until when the window is about to be asked to reach. The function that it
// returns is called after that, with whether the window may reach there now: it does not
// only if the request was certainly refused.
func (e *extent) asks(until int64) (answered func(may bool)) {
	if e == nil {
		return func(bool) {}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.under++
	e.asked = max(e.asked, until)
	return func(may bool) {
		if may {
			e.reaches(until)
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.under--; e.under == 0 {
			e.asked = 0
		}
	}
}

// reaches notes that the window reaches a tick, or may.
func (e *extent) reaches(until int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.until = max(e.until, until)
}

// copied reports whether somebody else has extended the window of a grant in a slot, with
// its token and generation. A piece above the window is no extension: the next renewal tells.
func (e *extent) copied(g coord.Grant, s Slot) bool {
	if e == nil || s.NotBefore > g.NotAfter {
		return false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return s.NotAfter > max(g.NotAfter, e.until, e.asked) //mutant:extent-until
}
