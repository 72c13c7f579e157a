package local

import (
	"errors"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/statefile"
)

// recordSize is the room of one of the two records of a file.
const recordSize = 64 << 10

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
	// Pair is what the back end has answered with last, and Sent, unless its token is empty, what
	// is made of that with the token that may have been sent since. It may have stored either.
	Pair pair `json:"pair"`
	Sent pair `json:"sent"`
	// Current is the window in which the mark lies, and Next what the back end has granted above
	// a floor, empty: nothing. What lies between the two is nobody's.
	Current piece `json:"current"`
	Next    piece `json:"next"`
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

	taken bool // by a holder of this process
}

// pair tells one holder of a worker ID from another.
type pair struct {
	Generation uint64 `json:"generation"`
	Token      string `json:"token"`
}

// piece is a window (From, To].
type piece struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

// last is the newest piece.
func (e *entry) last() *piece {
	if e.Next.To > 0 {
		return &e.Next
	}
	return &e.Current
}

// enter goes on in the next piece, if there is one and the current one is used up.
func (e *entry) enter() {
	if e.Next.To > 0 && e.Mark >= e.Current.To {
		e.Current, e.Next = e.Next, piece{}
		e.Mark = max(e.Mark, e.Current.From)
	}
}

// grant is the last piece of the entry as the back end has it.
func (e *entry) grant() coord.Grant {
	last := e.last()
	return coord.Grant{
		WorkerID: e.Worker, Generation: e.Pair.Generation, Token: e.Pair.Token,
		NotBefore: max(last.From, min(e.Mark, last.To)), NotAfter: last.To,
	}
}

// newestOf returns the newer of the two records in b; nil, and why, if they do not belong
// together: the newer one may be the one that cannot be read, and a grant in the older one
// may have been given back since. The error is that of a file that is not to be written over:
// somebody else's, or one of another version of this program.
func newestOf(b []byte) (newest *record, why string, _ error) {
	var records [2]record // with the sequence 0: there is none
	var foreign error
	for i := range records {
		err := format.Decode(b[min(i*recordSize, len(b)):min((i+1)*recordSize, len(b))], &records[i])
		switch {
		case errors.Is(err, statefile.ErrBlank):
		case errors.Is(err, statefile.ErrVersion):
			return nil, "", err
		case errors.Is(err, statefile.ErrForeign):
			foreign = err
		case err != nil:
			why = err.Error()
		case int(records[i].Sequence%2) != i:
			why = "its records are out of place"
		}
	}
	older, newer := &records[0], &records[1]
	if older.Sequence > newer.Sequence {
		older, newer = newer, older
	}
	switch {
	case foreign != nil && newer.Sequence == 0 && why == "":
		return nil, "", foreign
	case foreign != nil:
		return nil, foreign.Error(), nil //nolint:nilerr // why says what is wrong
	case why != "":
		return nil, why, nil
	case newer.Sequence == 0:
		return nil, "nothing is written in it", nil
	case older.Sequence != newer.Sequence-1:
		return nil, "one of its records is missing, or of another file", nil
	}
	return newer, "", nil
}
