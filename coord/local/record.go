package local

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/driver"
)

const (
	// formatVersion is that of the file. A program reads its own version only.
	formatVersion = 1
	// recordSize is the room of one of the two records of a file.
	recordSize = 64 << 10
	// maxPieces bounds what one grant may grow to: nothing of it may be left out or merged.
	maxPieces = 8
	// heading begins a record.
	heading = "unalike-state"
)

// record is what a state file says: where it belongs, and the grants in it.
type record struct {
	Sequence uint64   `json:"sequence"` // goes up by one with each record
	Written  int64    `json:"written"`  // microseconds since 1970, by the system's clock
	PID      int      `json:"pid"`      // who has written it, for people
	Home     home     `json:"home"`
	Grants   []*entry `json:"grants"`
}

// home is where the file is. A copy of it has another one.
type home struct {
	Machine string `json:"machine"`
	Boot    string `json:"boot"`
	Device  uint64 `json:"device"`
	Inode   uint64 `json:"inode"`
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
	// beside it.
	Place string `json:"place"`
	// Nonce is that of the namespace; empty: not known yet.
	Nonce    string `json:"nonce"`
	Identity string `json:"identity"`
	// TTL is that of the lease in the back end, in microseconds.
	TTL int64 `json:"ttl"`
	// Renewed is when the back end has extended the window last, in microseconds since 1970.
	Renewed int64 `json:"renewed"`
	// Parked says that its holder has ended in order while the back end was away.
	Parked bool `json:"parked"`

	taken     bool   // by this process
	paired    uint64 // the first record that has both pairs
	abandoned bool   // taken by a holder who could not store its window any more
	elsewhere bool   // it is of another place than the coordinator
}

// pair is what tells one holder of a worker ID from another.
type pair struct {
	Generation uint64 `json:"generation"`
	Token      string `json:"token"`
}

// piece is a window (From, To].
type piece struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

// encode returns the bytes of a record: a line with its version, length and checksum, and
// one with its content.
func (r *record) encode() ([]byte, error) {
	body, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(body)
	b := fmt.Appendf(nil, "%s v%d %d %s\n%s\n", heading, formatVersion, len(body), hex.EncodeToString(sum[:]), body)
	if len(b) > recordSize {
		return nil, fmt.Errorf("%w: the state file has room for %d bytes and %d are needed; use a file for each generator", coord.ErrInvalid, recordSize, len(b))
	}
	return b, nil
}

// errBlank says that a place in the file was never written.
var errBlank = errors.New("nothing is written there")

// errVersion says that a record is of another version of this program.
var errVersion = errors.New("it is of another version")

// blank reports whether nothing is written in b: a file is made with line ends, and what a file
// system has lost or never had are zeros.
func blank(b []byte) bool { return len(bytes.Trim(b, "\n\x00")) == 0 }

// begun reports whether b begins as a record does, as far as it was written.
func begun(b []byte) bool {
	b = bytes.TrimRight(b, "\n\x00")
	n := min(len(b), len(heading))
	return string(b[:n]) == heading[:n]
}

// decode reads the record at the beginning of b.
func decode(b []byte) (*record, error) {
	if blank(b) {
		return nil, errBlank
	}
	line, rest, ok := bytes.Cut(b[:min(len(b), recordSize)], []byte("\n"))
	fields := strings.Fields(string(line[:min(len(line), 200)]))
	if !ok || len(fields) != 4 || fields[0] != heading {
		return nil, errors.New("it is not a state file, or damaged")
	}
	if want := "v" + strconv.Itoa(formatVersion); fields[1] != want {
		return nil, fmt.Errorf("%w, %.20q, and this program reads %s", errVersion, fields[1], want)
	}
	n, err := strconv.Atoi(fields[2])
	if err != nil || n < 0 || n > len(rest) {
		return nil, errors.New("it is damaged: its length is wrong")
	}
	if sum := sha256.Sum256(rest[:n]); hex.EncodeToString(sum[:]) != fields[3] {
		return nil, errors.New("it is damaged: its checksum is wrong")
	}
	var r record
	if err := json.Unmarshal(rest[:n], &r); err != nil {
		return nil, fmt.Errorf("it is damaged: %w", err)
	}
	return &r, r.check()
}

// check reports whether a record can have been written by this package.
func (r *record) check() error {
	seen := map[int]bool{}
	for _, e := range r.Grants {
		if e == nil || e.Worker < 0 || e.TTL <= 0 || len(e.Pairs) == 0 || len(e.Pairs) > 2 || len(e.Pieces) > maxPieces || len(e.Pieces) == 0 || e.Layout == "" {
			return errors.New("it is damaged: a grant is not complete")
		}
		if seen[e.Worker] {
			return fmt.Errorf("it is damaged: worker ID %d is in it twice", e.Worker)
		}
		seen[e.Worker] = true
		for i, p := range e.Pieces {
			if p.From < 0 || p.To < p.From || i > 0 && p.From < e.Pieces[i-1].To {
				return fmt.Errorf("it is damaged: the window of worker ID %d is not in order", e.Worker)
			}
		}
		for _, p := range e.Pairs {
			if err := driver.CheckResume(coord.Grant{}, p.Token); err != nil || p.Generation == 0 {
				return fmt.Errorf("it is damaged: worker ID %d has a pair that is none", e.Worker)
			}
		}
	}
	return nil
}

// clone is a copy of the entry as it is now.
func (e *entry) clone() *entry {
	c := *e
	c.Pairs, c.Pieces = slices.Clone(e.Pairs), slices.Clone(e.Pieces)
	return &c
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

// shed leaves out the pieces of which nothing can be stamped any more.
func (e *entry) shed() {
	for len(e.Pieces) > 1 && e.Pieces[0].To <= e.Mark && e.Pieces[1].From <= e.Mark {
		e.Pieces = e.Pieces[1:]
	}
}
