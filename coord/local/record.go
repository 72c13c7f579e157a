package local

import (
	"errors"
	"slices"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/statefile"
)

const (
	// recordSize is the room of one of the two records of a file.
	recordSize = 64 << 10
	// maxPieces bounds what one grant may grow to: nothing of it may be left out or merged.
	maxPieces = 8
)

// format is that of the records. A program reads its own version only.
var format = statefile.Format{Name: "unalike-state", Version: 2}

// record is what a state file says: where it belongs, and the grants in it.
type record struct {
	Sequence uint64   `json:"sequence"` // goes up by one with each record
	Written  int64    `json:"written"`  // microseconds since 1970, by the system's clock
	Window   int64    `json:"window"`   // Options.Window, in microseconds
	PID      int      `json:"pid"`      // who has written it, for people
	Home     home     `json:"home"`
	Grants   []*entry `json:"grants"`
}

// home is where the file is. A copy of it has another one.
type home struct {
	statefile.Home
	Device uint64 `json:"device"`
	Inode  uint64 `json:"inode"`
}

// entry is one grant of the back end.
type entry struct {
	Worker int `json:"worker"`
	// Pairs are what the back end may have stored for it: the pair that it has answered with
	// last, and perhaps what is made of that with the token that may have been sent since.
	Pairs []pair `json:"pairs"`
	// Pieces are what the back end has granted, in order. What lies between two of them is
	// nobody's.
	Pieces []piece `json:"pieces"`
	// Mark is the tick above which nothing was stamped.
	Mark   int64  `json:"mark"`
	Layout string `json:"layout"`
	// Place is where its namespace lives, and may be another one than that of the grant
	// beside it; Nonce is the namespace's, empty if it is not known.
	Place    string `json:"place"`
	Nonce    string `json:"nonce"`
	Identity string `json:"identity"`
	// TTL is that of the lease in the back end, in microseconds.
	TTL int64 `json:"ttl"`
	// Renewed is when the back end has extended the window last, in microseconds since 1970.
	Renewed int64 `json:"renewed"`
	// Parked says that its holder has ended in order while the back end was away.
	Parked bool `json:"parked"`

	taken  bool   // by a holder of this process
	paired uint64 // the first attempt to store that has both pairs
}

// pair tells one holder of a worker ID from another.
type pair struct {
	Generation uint64 `json:"generation"`
	Token      string `json:"token"`
}

func pairOf(g coord.Grant) pair { return pair{g.Generation, g.Token} }

// piece is a window (From, To].
type piece struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

// newestOf returns the newer of the two records in b; nil, and why, if they do not belong
// together: the newer one may be the one that cannot be read, and a grant in the older one
// may have been given back since. The error is that of a file that is not to be written over:
// somebody else's, or one of another version of this program.
func newestOf(b []byte) (newest *record, why string, _ error) {
	var records [2]*record
	ours := false
	var foreign error
	for i := range records {
		r := &record{}
		err := format.Decode(b[min(i*recordSize, len(b)):min((i+1)*recordSize, len(b))], r)
		switch {
		case err == nil && int(r.Sequence%2) != i:
			ours, why = true, "its records are out of place"
		case err == nil:
			ours, records[i] = true, r
		case errors.Is(err, statefile.ErrBlank):
		case errors.Is(err, statefile.ErrVersion):
			return nil, "", err
		case errors.Is(err, statefile.ErrForeign):
			foreign = err
		default:
			ours, why = true, err.Error()
		}
	}
	even, odd := records[0], records[1]
	switch {
	case foreign != nil && !ours:
		return nil, "", foreign
	case foreign != nil:
		return nil, foreign.Error(), nil //nolint:nilerr // why says what is wrong
	case why != "":
		return nil, why, nil
	case even == nil && odd == nil:
		return nil, "nothing is written in it", nil
	case even == nil && odd.Sequence == 1:
		return odd, "", nil
	case even == nil || odd == nil:
		return nil, "one of its records is missing", nil
	case even.Sequence == odd.Sequence+1:
		return even, "", nil
	case odd.Sequence == even.Sequence+1:
		return odd, "", nil
	}
	return nil, "its records are not of one file", nil
}

// end is the last tick that was granted.
func (e *entry) end() int64 { return e.Pieces[len(e.Pieces)-1].To }

// at returns the piece that goes on above a tick: the first that ends above it, else the last.
func (e *entry) at(tick int64) piece {
	for _, p := range e.Pieces {
		if p.To > tick {
			return p
		}
	}
	return e.Pieces[len(e.Pieces)-1]
}

// snapshot is the entry as it is now, without the pieces of which nothing can be stamped any more.
func (e *entry) snapshot() *entry {
	for len(e.Pieces) > 1 && e.Pieces[0].To <= e.Mark && e.Pieces[1].From <= e.Mark {
		e.Pieces = e.Pieces[1:]
	}
	c := *e
	c.Pairs, c.Pieces = slices.Clone(e.Pairs), slices.Clone(e.Pieces)
	return &c
}

// grant is the last piece of the entry as the back end has it under a pair.
func (e *entry) grant(p pair) coord.Grant {
	last := e.Pieces[len(e.Pieces)-1]
	return coord.Grant{WorkerID: e.Worker, Generation: p.Generation, Token: p.Token, NotBefore: max(last.From, min(e.Mark, last.To)), NotAfter: last.To}
}
