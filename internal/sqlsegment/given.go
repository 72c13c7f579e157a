package sqlsegment

import (
	"sync"

	"github.com/unalike-id/unalike/segment"
)

// given is what this store has handed out of each tag.
type given struct {
	mu   sync.Mutex
	tags map[string]floor
}

// floor is a number that all ranges of a tag begin at or above which are asked for from now on, how
// often something was given back, and the last ranges that were handed out and are held.
type floor struct {
	next    int64
	returns int
	held    []segment.Range
}

// mostHeld is how many ranges of a tag are kept, and so how many can be given back before the floor
// is lower than it has to be.
const mostHeld = 16

// floor is that of a tag.
func (g *given) floor(tag string) floor {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.tags[tag]
}

// note notes a range that was taken.
func (g *given) note(tag string, r segment.Range) {
	g.mu.Lock()
	defer g.mu.Unlock()
	f := g.tags[tag]
	f.next = max(f.next, r.Last+1)
	f.held = append(f.held, r)
	f.held = f.held[max(0, len(f.held)-mostHeld):]
	g.tags[tag] = f
}

// back notes that a range is given back. The numbers below it may be those of another program,
// which gives them back as well: the floor is above what is held here.
func (g *given) back(tag string, r segment.Range) {
	g.mu.Lock()
	defer g.mu.Unlock()
	f := floor{returns: g.tags[tag].returns + 1}
	for _, one := range g.tags[tag].held {
		if one.Last == r.Last {
			one.Last = r.First - 1
		}
		if one.First <= one.Last { //mutant:sql-segment-held
			f.next = max(f.next, one.Last+1)
			f.held = append(f.held, one)
		}
	}
	g.tags[tag] = f
}
