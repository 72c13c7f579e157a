package redis

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/protocol"
)

const (
	fieldMeta   = "meta"
	tokenPrefix = "t:"
	// identityPrefix begins the fields that say what an identity had last.
	identityPrefix = "h:"
	// declared is how many fields a namespace has in which nothing was granted: meta, origin and n.
	declared = 3
)

// keyOf is the hash of a namespace. The braces make its place in a Cluster that of the name alone.
func keyOf(namespace string) string { return keysOf(namespace) + "namespace" }

// leaseOf is the key of the lease of a worker ID.
func leaseOf(namespace, worker string) string { return keysOf(namespace) + "worker:" + worker }

// keysOf begins all keys of a namespace.
func keysOf(namespace string) string { return "{" + namespace + "}:" }

// entry reads the value of a field: the version, and the record.
func entry[R protocol.Record](s *store, a *answer, field string) (e protocol.Entry[R], err error) {
	value, there := a.values[field]
	if !there {
		return e, nil
	}
	version, record, _ := strings.Cut(value, " ")
	if e.Version, err = strconv.ParseInt(version, 10, 64); err != nil || e.Version < 1 {
		return protocol.Entry[R]{}, s.damaged(field,
			errors.New("the value does not begin with its version, perhaps truncated"))
	}
	if e.Record, err = protocol.Decode[R]([]byte(record)); err != nil {
		return protocol.Entry[R]{}, s.damaged(field, err)
	}
	e.Made, e.Raw = protocol.MadeUnknown, []byte(value)
	return e, nil
}

// valueOf is what is stored for a record that takes the place of another one.
func valueOf[R protocol.Record](old protocol.Entry[R], r R) (string, error) {
	record, err := protocol.Encode(r)
	return strconv.FormatInt(old.Version+1, 10) + " " + record, err
}

// meta reads the namespace's record.
func (s *store) meta(a *answer) (protocol.Entry[protocol.Meta], error) {
	if _, there := a.values[fieldMeta]; !there && a.fields > 0 {
		return protocol.Entry[protocol.Meta]{},
			s.damaged(fieldMeta, errors.New("the field is missing and there are others"))
	}
	return entry[protocol.Meta](s, a, fieldMeta)
}

// slot reads the slot of a worker ID.
func (s *store) slot(a *answer, worker int) (protocol.Entry[protocol.Slot], error) {
	field := strconv.Itoa(worker)
	e, err := entry[protocol.Slot](s, a, field)
	if err == nil && e.There() && e.Record.Worker != worker {
		err = s.damaged(field, fmt.Errorf("it is the slot of worker ID %d", e.Record.Worker))
	}
	return e, err
}

// view reads the namespace's record and what is stored of a worker ID; -1: of none.
func (s *store) view(a *answer, worker int) (*protocol.View, error) {
	v := &protocol.View{Position: a.Position}
	var err error
	if v.Meta, err = s.meta(a); err != nil || !v.Meta.There() {
		return v, err
	}
	v.Origin = a.origin
	if worker >= 0 {
		v.Slot, err = s.slot(a, worker)
		v.Owned = a.owned == 1
	}
	return v, err
}

// damaged is the error of a value that this driver cannot have written.
func (s *store) damaged(field string, why error) error {
	return fmt.Errorf("%w Redis key %q, field %q: %w; it is not overwritten: restore it from a "+
		"backup, or use another namespace", coord.ErrInvalid, keyOf(s.namespace), field, why)
}
