package etcd

import (
	"fmt"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/protocol"
)

// ownerRecord is the value of an owner key.
type ownerRecord struct {
	Version int   `json:"version"`
	Renewed int64 `json:"renewed"` // the holder's clock, microseconds since 1970
	TTL     int64 `json:"ttl"`     // milliseconds; 0: retired
}

// Check implements [protocol.Record].
func (o ownerRecord) Check() error {
	if o.TTL < 0 {
		return fmt.Errorf("ttl is %d ms; it is 0 or more", o.TTL)
	}
	return nil
}

// ttl is the TTL that the holder asked for.
func (o ownerRecord) ttl() time.Duration { return time.Duration(o.TTL) * time.Millisecond }

// tokenRecord is the value of a token key.
type tokenRecord struct {
	Version int `json:"version"`
	Worker  int `json:"worker"`
}

// Check implements [protocol.Record].
func (t tokenRecord) Check() error { return nil }

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
