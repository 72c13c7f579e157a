package etcd

import (
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/protocol"
)

// window is the part of a slot that a renewal changes. It has a key of its own, because what is
// written with each renewal is what fills a database.
type window struct {
	Version   int   `json:"version"`
	NotBefore int64 `json:"notBefore"`
	NotAfter  int64 `json:"notAfter"`
	Renewed   int64 `json:"renewed"`
}

// Check implements [protocol.Record]. Whether the window makes sense, the whole slot tells.
func (window) Check() error { return nil }

// holder is a slot without its window.
type holder struct {
	protocol.Slot
	NotBefore struct{} `json:"notBefore,omitzero"`
	NotAfter  struct{} `json:"notAfter,omitzero"`
	Renewed   struct{} `json:"renewed,omitzero"`
}

// Check implements [protocol.Record], as that of a window does.
func (holder) Check() error { return nil }

// encodeSlot returns what is stored of a slot: its window and the rest.
func encodeSlot(s protocol.Slot) (slot, rest string, err error) {
	slot, err = protocol.Encode(window{protocol.Version, s.NotBefore, s.NotAfter, s.Renewed})
	rest, restErr := protocol.Encode(holder{Slot: s})
	return slot, rest, errors.Join(err, restErr)
}

// slotOf decodes a slot from its two keys; the zero Entry if there is no window: what that
// means, the coordinator knows.
func (k keyspace) slotOf(slot, rest *mvccpb.KeyValue) (e protocol.Entry[protocol.Slot], err error) {
	if slot == nil {
		return e, nil
	}
	worker, err := workerOf(k.slots(), string(slot.Key))
	if err != nil {
		return e, err
	}
	if rest == nil {
		return e, damaged(k.holder(worker),
			errors.New("the key is missing, and "+string(slot.Key)+" is there"))
	}
	w, err := decode[window](string(slot.Key), slot.Value)
	if err != nil {
		return e, err
	}
	h, err := decode[holder](string(rest.Key), rest.Value)
	if err != nil {
		return e, err
	}
	e = protocol.Entry[protocol.Slot]{
		Record: h.Slot, Made: slot.CreateRevision,
		Version: slot.ModRevision,
	}
	e.Record.NotBefore, e.Record.NotAfter, e.Record.Renewed = w.NotBefore, w.NotAfter, w.Renewed
	if e.Record.Worker != worker {
		return e, damaged(string(rest.Key), fmt.Errorf("worker is %d and the key is that of %d",
			e.Record.Worker, worker))
	}
	if err := e.Record.Check(); err != nil {
		return e, damaged(string(slot.Key), fmt.Errorf("with %s: %w", rest.Key, err))
	}
	return e, nil
}

// metaOf decodes the namespace's record; the zero Entry if there is none.
func metaOf(kv *mvccpb.KeyValue) (e protocol.Entry[protocol.Meta], err error) {
	if kv == nil {
		return e, nil
	}
	e = protocol.Entry[protocol.Meta]{Raw: kv.Value, Made: kv.CreateRevision, Version: kv.ModRevision}
	e.Record, err = decode[protocol.Meta](string(kv.Key), kv.Value)
	return e, err
}

// leadsTo returns the worker ID that a key leads to; -1 if there is none.
func leadsTo(kv *mvccpb.KeyValue) (worker int, err error) {
	if kv == nil {
		return -1, nil
	}
	p, err := decode[protocol.Pointer](string(kv.Key), kv.Value)
	return p.Worker, err
}

// decode reads what [protocol.Encode] wrote. Errors wrap coord.ErrInvalid and name the
// key.
func decode[R protocol.Record](key string, b []byte) (R, error) {
	r, err := protocol.Decode[R](b)
	if err != nil {
		return r, damaged(key, err)
	}
	return r, nil
}

// damaged is the error of a key whose value this driver cannot have written.
func damaged(key string, err error) error {
	return fmt.Errorf("%w etcd key %q: %w; it is not overwritten: restore it from a backup, or use "+
		"another namespace", coord.ErrInvalid, key, err)
}
