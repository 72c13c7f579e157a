package static

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/unalike-id/unalike/coord"
	slots "github.com/unalike-id/unalike/internal/protocol"
)

const (
	stateVersion = 1
	// maxState bounds what is read: a state file has a few hundred bytes.
	maxState = 16 << 10
)

// record is the content of a state file: the slot of one worker ID.
type record struct {
	Version    int    `json:"version"`
	Namespace  string `json:"namespace"`
	Worker     int    `json:"worker"`
	Layout     string `json:"layout"`
	Generation uint64 `json:"generation"`
	NotAfter   int64  `json:"notAfter"`
	Token      string `json:"token"`  // empty: released
	Holder     string `json:"holder"` // for people
}

// stateKeys are the keys of a record, in the order in which they are written.
var stateKeys = []string{"version", "namespace", "worker", "layout", "generation", "notAfter", "token", "holder"}

// encode returns the content of the state file. It fails if decode would not read
// the same record from it: what cannot be read back must not be written.
func (r record) encode() ([]byte, error) {
	r.Holder = strings.ToValidUTF8(r.Holder, "?")
	b, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	if back, err := decode(b); err != nil || back != r {
		return nil, fmt.Errorf("%w: what would be written to the state file could not be read back: %q", coord.ErrInvalid, b)
	}
	return append(b, '\n'), nil
}

// decode reads a state file, strictly: exactly the keys of a record, once each and
// spelled as encode does. White space is free.
func decode(b []byte) (record, error) {
	switch {
	case len(bytes.TrimSpace(b)) == 0:
		return record{}, errors.New("it is empty, perhaps truncated")
	case len(b) > maxState:
		return record{}, fmt.Errorf("it has more than %d bytes and is no state file", maxState)
	case !utf8.Valid(b):
		return record{}, errors.New("it is not JSON: it is not even UTF-8")
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(b, &fields); err != nil {
		return record{}, fmt.Errorf("it is not a JSON object, perhaps truncated: %w", err)
	}
	// The version first: what follows is only known for this one.
	if v, ok := fields["version"]; ok && string(v) != fmt.Sprint(stateVersion) {
		return record{}, fmt.Errorf("it has version %s and this program reads version %d", v, stateVersion)
	}
	for _, k := range stateKeys {
		if _, ok := fields[k]; !ok {
			return record{}, fmt.Errorf("the field %q is missing", k)
		}
		if string(fields[k]) == "null" {
			return record{}, fmt.Errorf("the field %q is null", k)
		}
	}
	for k := range fields {
		if !slices.Contains(stateKeys, k) {
			return record{}, fmt.Errorf("the field %q is unknown", k)
		}
	}
	var r record
	if err := json.Unmarshal(b, &r); err != nil {
		return record{}, fmt.Errorf("a field has a wrong value: %w", err)
	}
	// What is written again must be what was read: this finds keys that are given
	// twice and numbers in other forms.
	var got bytes.Buffer
	want, err := json.Marshal(r)
	if err == nil {
		err = json.Compact(&got, b)
	}
	if err != nil {
		return record{}, err
	}
	if !bytes.Equal(got.Bytes(), want) {
		return record{}, errors.New("a field is given twice, out of order, or in a form that this driver does not write")
	}
	return r, r.check()
}

// holds reports whether the record is that of a grant.
func (r record) holds(g coord.Grant) bool {
	return r.Token == g.Token && r.Generation == g.Generation && g.Token != ""
}

// with is the record with what a step of the protocol has made of its slot.
func (r record) with(s slots.Slot) record {
	r.Token, r.Generation, r.NotAfter = s.Token, s.Generation, s.NotAfter
	return r
}

func (r record) check() error {
	switch {
	case r.Generation == 0:
		return errors.New("generation is 0; it starts at 1")
	case r.NotAfter < 0:
		return fmt.Errorf("notAfter is %d; a tick is 0 or more", r.NotAfter)
	case r.Layout == "":
		return errors.New("layout is empty")
	}
	return nil
}

// owned tells whether the record is that of the pair, for a layout that ends at
// lastTick.
func (r record) owned(p pair, layout string, lastTick int64) error {
	if r.Namespace != p.namespace || r.Worker != p.worker {
		return fmt.Errorf("%w: it belongs to namespace %q, worker ID %d; it is wanted for namespace %q, worker ID %d; give each namespace and worker ID a state file of its own", coord.ErrInvalid, r.Namespace, r.Worker, p.namespace, p.worker)
	}
	if r.Layout != layout {
		return &coord.LayoutMismatchError{Namespace: p.namespace, Stored: r.Layout, Wanted: layout}
	}
	if r.NotAfter > lastTick {
		return fmt.Errorf("%w: notAfter is %d; the layout ends at tick %d", coord.ErrInvalid, r.NotAfter, lastTick)
	}
	return nil
}
