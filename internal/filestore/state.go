package filestore

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"

	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/statefile"
)

// Earlier says what a file is that an earlier version of this program has written.
const Earlier = "it is of an earlier version of this program; stop all programs that use it and " +
	"wait until its windows are over, " +
	"which takes as long as the horizon was, 4s unless the option horizon said otherwise"

// format is that of a file. Files of the first version of coord/static have no heading.
var format = statefile.Format{Name: "unalike-ids", Version: 2}

// State is the content of a file. Nobody but this package and a driver's [Leases] uses its fields.
type State struct {
	Namespace string `json:"namespace"`
	// the first worker ID that the file is for; -1: all
	First int            `json:"first"`
	Home  statefile.Home `json:"home"` // where it was written last
	// counts what was written; 0: nothing was
	Number int64                                 `json:"number"`
	Meta   protocol.Entry[protocol.Meta]         `json:"meta"`
	Slots  map[int]protocol.Entry[protocol.Slot] `json:"slots"`
	// of the worker IDs that are held or retired
	Marks map[int]Mark `json:"marks"`
	// Numbers are those of package segment, and Count counts their changes.
	Numbers json.RawMessage `json:"numbers,omitempty"`
	Count   int64           `json:"count,omitempty"`
}

// Mark is an owner mark.
type Mark struct {
	Token string `json:"token"` // empty: the worker ID is retired
	Ends  int64  `json:"ends"`  // by the clock of [Leases]
}

func newState(namespace string) *State {
	return &State{
		Namespace: namespace, First: -1, Slots: map[int]protocol.Entry[protocol.Slot]{},
		Marks: map[int]Mark{},
	}
}

// copied returns a copy that can be changed.
func (d *State) copied() *State {
	c := *d
	c.Slots, c.Marks = maps.Clone(d.Slots), maps.Clone(d.Marks)
	return &c
}

// decode reads the content of a file. Its checksum tells that it is what was written.
func decode(b []byte) (*State, error) {
	d := &State{}
	if err := format.Decode(b, d); err != nil {
		if bytes.Contains(b[:min(len(b), 16)], []byte(`"version":1`)) {
			err = errors.New(Earlier)
		}
		return nil, err
	}
	if d.Slots == nil || d.Marks == nil || !d.Meta.There() && len(d.Slots) > 0 {
		return nil, errors.New("the record of the namespace, or its slots or marks are missing")
	}
	// The record says itself which programs may read it.
	raw, err := protocol.Encode(d.Meta.Record)
	if err == nil && d.Meta.There() {
		_, err = protocol.Decode[protocol.Meta]([]byte(raw))
	}
	return d, err
}

// view is what is stored of a worker ID; -1: of the namespace alone.
func (d *State) view(id int) *protocol.View {
	m, owned := d.Marks[id]
	return &protocol.View{
		Position: protocol.Position{Number: d.Number}, Meta: d.Meta,
		Slot: d.Slots[id], Owned: owned, Lease: m.Token,
	}
}

// worker returns the worker ID that a token leads to; -1: none.
func (d *State) worker(token string) int {
	for id, m := range d.Marks {
		if token != "" && m.Token == token {
			return id
		}
	}
	return -1
}

// apply makes a change; ends is when a lease ends that is renewed by it.
func (d *State) apply(c protocol.Change, ends int64) {
	id := c.Worker()
	d.Number++
	if c.Meta != nil {
		d.Meta = d.Meta.Next(*c.Meta, d.Number)
	}
	if c.Slot != nil {
		d.Slots[id] = d.Slots[id].Next(*c.Slot, d.Number)
	}
	switch m, owned := d.Marks[id]; {
	case c.Owner == protocol.OwnerTaken:
		d.Marks[id] = Mark{c.Token, ends}
	case c.Owner == protocol.OwnerFreed:
		delete(d.Marks, id)
	case c.Owner == protocol.OwnerForever:
		d.Marks[id] = Mark{}
	case owned && c.Slot != nil:
		d.Marks[id] = Mark{m.Token, ends}
	}
}
