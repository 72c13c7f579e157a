package sqlsegment

import (
	"sync"

	"github.com/unalike-id/unalike/segment"
)

// given is what this store has handed out: the last number of each tag.
type given struct {
	mu   sync.Mutex
	tags map[string]floor
}

// floor is a number that all ranges of a tag begin above which are asked for from now on, and how
// often something was given back.
type floor struct {
	last    int64
	returns int
}

// floor is that of a tag.
func (g *given) floor(tag string) floor {
	g.mu.Lock()
	defer g.mu.Unlock()
	f, ok := g.tags[tag]
	if !ok {
		f.last = -1
	}
	return f
}

// note notes a range that was taken.
func (g *given) note(tag string, r segment.Range) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.tags == nil {
		g.tags = map[string]floor{}
	}
	now := g.tags[tag]
	g.tags[tag] = floor{max(now.last, r.Last), now.returns}
}

// back notes that a range is given back.
func (g *given) back(tag string, r segment.Range) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if f, ok := g.tags[tag]; ok && f.last == r.Last {
		g.tags[tag] = floor{r.First - 1, f.returns + 1}
	}
}
