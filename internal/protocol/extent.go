package protocol

import "sync"

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
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.asking, ask)
		if may {
			e.until = max(e.until, until)
		}
	}
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
