package filestore

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/statefile"
)

// maxFile bounds what is read: a slot has some 400 bytes.
const maxFile = 64 << 20

// Earlier says what a file is that an earlier version of this program has written.
const Earlier = "it is of an earlier version of this program; stop all programs that use it and wait until its windows are over, " +
	"which takes as long as the horizon was, 4s unless the option horizon said otherwise"

// format is that of a file. Files of the first version of coord/static have no heading.
var format = statefile.Format{Name: "unalike-ids", Version: 2}

// state is the content of a file.
type state struct {
	Namespace string         `json:"namespace"`
	First     int            `json:"first"`  // the first worker ID that the file is for; -1: all
	Home      statefile.Home `json:"home"`   // where it was written last
	Number    int64          `json:"number"` // counts what was written
	Meta      entry          `json:"meta"`
	Slots     map[int]entry  `json:"slots"`
	Marks     map[int]mark   `json:"marks"` // of the worker IDs that are held or retired

	ended func(written bool) // called when the operation that reads the state has ended; nil: nothing
}

// entry is a record as it is stored; the zero entry is one that is not there.
type entry struct {
	Made    int64           `json:"made"`
	Version int64           `json:"version"`
	Record  json.RawMessage `json:"record,omitempty"`
}

// mark is an owner mark.
type mark struct {
	Token string `json:"token"` // empty: the worker ID is retired
	Ends  int64  `json:"ends"`  // see [Leases]
}

// decode reads the content of a file.
func decode(b []byte) (*state, error) {
	d := &state{}
	switch err := format.Decode(b, d); {
	case len(b) > maxFile:
		return nil, fmt.Errorf("it has more than %d bytes", maxFile)
	case bytes.Contains(b[:min(len(b), 16)], []byte(`"version":1`)):
		return nil, errors.New(Earlier)
	case err != nil:
		return nil, err
	case d.Slots == nil || d.Marks == nil:
		return nil, errors.New("it has no slots or no marks")
	}
	return d, nil
}

// read returns an entry with its record; what names it in errors.
func read[R protocol.Record](e entry, what string) (protocol.Entry[R], error) {
	if e.Made == 0 {
		return protocol.Entry[R]{}, nil
	}
	r, err := protocol.Decode[R](e.Record)
	if err != nil {
		err = fmt.Errorf("%w: %s: %w", coord.ErrInvalid, what, err)
	}
	return protocol.Entry[R]{Record: r, Raw: e.Record, Made: e.Made, Version: e.Version}, err
}

// put returns what replaces an entry in the next write.
func (d *state) put(old entry, r protocol.Record) (entry, error) {
	raw, err := protocol.Encode(r)
	return entry{Made: cmp.Or(old.Made, d.Number), Version: d.Number, Record: json.RawMessage(raw)}, err
}

// is reports whether an entry is the one that was read, by its value too: an older file that was
// put back has the same versions once more.
func is[R protocol.Record](e entry, was protocol.Entry[R]) bool {
	return e.Made == was.Made && e.Version == was.Version && bytes.Equal(e.Record, was.Raw)
}

// slot reads the slot of a worker ID.
func (d *state) slot(id int) (protocol.Entry[protocol.Slot], error) {
	s, err := read[protocol.Slot](d.Slots[id], fmt.Sprintf("the slot of worker ID %d", id))
	if err == nil && s.There() && s.Record.Worker != id {
		err = fmt.Errorf("%w: the slot of worker ID %d is that of %d", coord.ErrInvalid, id, s.Record.Worker)
	}
	return s, err
}

// meta reads the record of the namespace.
func (d *state) meta() (protocol.Entry[protocol.Meta], error) {
	if d.Meta.Made == 0 && len(d.Slots) > 0 {
		return protocol.Entry[protocol.Meta]{}, fmt.Errorf("%w: the record of the namespace is missing and there are slots", coord.ErrInvalid)
	}
	return read[protocol.Meta](d.Meta, "the record of the namespace")
}

// view is what is stored of a worker ID; -1: of the namespace alone.
func (d *state) view(id int) (*protocol.View, error) {
	meta, err1 := d.meta()
	slot, err2 := d.slot(id)
	m, owned := d.Marks[id]
	v := &protocol.View{Position: protocol.Position{Number: d.Number}, Meta: meta, Slot: slot, Owned: owned, Lease: m.Token}
	return v, errors.Join(err1, err2)
}

// worker returns the worker ID that a token leads to; -1: none.
func (d *state) worker(token string) int {
	for id, m := range d.Marks {
		if token != "" && m.Token == token {
			return id
		}
	}
	return -1
}

// slots reads all slots, in ascending order. What cannot be read is left out, with an error each.
func (d *state) slots() (all []protocol.Entry[protocol.Slot], unreadable []error) {
	for _, id := range slices.Sorted(maps.Keys(d.Slots)) {
		s, err := d.slot(id)
		if err != nil {
			unreadable = append(unreadable, err)
			continue
		}
		all = append(all, s)
	}
	return all, unreadable
}

// own writes what becomes of an owner mark.
func (d *state) own(id int, c protocol.Change, ends int64) {
	switch m, owned := d.Marks[id]; {
	case c.Owner == protocol.OwnerTaken:
		d.Marks[id] = mark{c.Token, ends}
	case c.Owner == protocol.OwnerFreed:
		delete(d.Marks, id)
	case c.Owner == protocol.OwnerForever:
		d.Marks[id] = mark{Ends: math.MaxInt64}
	case owned && c.Slot != nil:
		d.Marks[id] = mark{m.Token, ends}
	}
}
