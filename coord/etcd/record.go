package etcd

import (
	"fmt"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/protocol"
)

// entryOf decodes a key; the zero Entry if there is none.
func entryOf[R protocol.Record](kv *mvccpb.KeyValue) (e protocol.Entry[R], err error) {
	if kv == nil {
		return e, nil
	}
	e = protocol.Entry[R]{Raw: kv.Value, Made: kv.CreateRevision, Version: kv.ModRevision}
	e.Record, err = decode[R](string(kv.Key), kv.Value)
	return e, err
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
	return fmt.Errorf("%w etcd key %q: %w; it is not overwritten: restore it from a backup, or use another namespace", coord.ErrInvalid, key, err)
}
