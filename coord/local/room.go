package local

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/unalike-id/unalike/coord"
)

// frame is what a record needs beside its grants, at the most.
const frame = 1 << 10

// size is the room that a grant needs in the file, with whatever it may still grow to.
func (e *entry) size() int {
	grown := *e
	grown.Worker, grown.Mark, grown.Renewed, grown.Nonce = math.MaxInt, math.MaxInt64, math.MaxInt64, strings.Repeat("x", coord.MaxName)
	grown.Pairs = []pair{{math.MaxUint64, e.Pairs[0].Token}, {math.MaxUint64, rand.Text()}}
	grown.Pieces = make([]piece, maxPieces)
	for i := range grown.Pieces {
		grown.Pieces[i] = piece{math.MaxInt64, math.MaxInt64}
	}
	b, err := json.Marshal(grown)
	if err != nil {
		return recordSize
	}
	return len(b) + 1
}

// makeRoom takes grants out of the file that nobody in this process has, until there is room for
// that of a request. Nothing is leased that has none: one entry too many, and no mark could be
// stored any more. The caller holds mu.
func (c *Coordinator) makeRoom(req coord.Request) error {
	used := frame + newEntry(req, c.place).size()
	for _, e := range c.entries {
		used += e.size()
	}
	for _, e := range append([]*entry(nil), c.entries...) {
		if used > recordSize && !e.taken {
			used -= e.size()
			c.drop(e)
		}
	}
	if used > recordSize {
		return fmt.Errorf("%w: state file %q has %d grants, and no room for one more; use a file for each generator", coord.ErrInvalid, c.path, len(c.entries))
	}
	return nil
}
