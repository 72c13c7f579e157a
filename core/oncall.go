package core

import (
	"slices"
	"sync"

	"github.com/unalike-id/unalike/coord"
)

// firstCalls is how many calls to the coordinator are kept for functions that are added later.
const firstCalls = 16

// calls reports the calls to the coordinator.
type calls struct {
	mu    sync.Mutex
	to    []func(coord.Call)
	first []coord.Call
}

// OnCall has f called after each call to the coordinator from now on, beside Config.OnCall, and at
// once for those of the start: the first 16. What holds for Config.OnCall holds for f.
func (g *Generator) OnCall(f func(coord.Call)) {
	if f == nil {
		return
	}
	g.calls.mu.Lock()
	first := g.calls.first
	g.calls.to = append(slices.Clip(g.calls.to), f)
	g.calls.mu.Unlock()
	for _, call := range first {
		f(call)
	}
}

// report passes a call on.
func (c *calls) report(call coord.Call) {
	c.mu.Lock()
	if len(c.first) < firstCalls {
		c.first = append(c.first, call)
	}
	to := c.to
	c.mu.Unlock()
	for _, f := range to {
		f(call)
	}
}
