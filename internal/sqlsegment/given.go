package sqlsegment

import (
	"sync"

	"github.com/unalike-id/unalike/segment"
)

// given remembers the ranges that this store has handed out.
type given struct {
	mu   sync.Mutex
	tags map[string]floor
}

// floor is the lower bound of later ranges of one tag.
type floor struct {
	next    int64           // the first number that a later range may have
	returns int             // how many ranges were given back
	held    []segment.Range // the last ranges that were handed out and not given back
}

// mostHeld is the number of ranges that a floor remembers. After more of them are given back, the
// floor can be lower than necessary.
const mostHeld = 16

// floor returns the floor of a tag.
func (g *given) floor(tag string) floor {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.tags[tag]
}

// note adds a range that was taken.
func (g *given) note(tag string, r segment.Range) {
	g.mu.Lock()
	defer g.mu.Unlock()
	f := g.tags[tag]
	f.next = max(f.next, r.Last+1)
	f.held = append(f.held, r)
	f.held = f.held[max(0, len(f.held)-mostHeld):]
	g.tags[tag] = f
}

// back removes a range that is given back, and lowers the floor to the end of the highest range
// that this store still holds. The row may go below the given range: another program may hold the
// numbers under it and give them back too.
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
