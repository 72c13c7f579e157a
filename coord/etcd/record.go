package etcd

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
)

// recordVersion is the version of everything that is stored.
const recordVersion = 1

// metaRecord is what a namespace is.
type metaRecord struct {
	Version     int    `json:"version"`
	Fingerprint string `json:"fingerprint"`
	Epoch       int64  `json:"epoch"` // microseconds since 1970
	Unit        int64  `json:"unit"`  // microseconds a tick
	LastTick    int64  `json:"lastTick"`
	Capacity    int    `json:"capacity"`
	Floor       int64  `json:"floor"` // nothing is granted or extended at or below this tick
}

func (m metaRecord) scale() clock.Scale { return clock.Scale{Epoch: m.Epoch, Unit: m.Unit} }

func (m metaRecord) check() error {
	switch {
	case m.Fingerprint == "":
		return errors.New("fingerprint is empty")
	case m.Epoch < 0 || m.Unit <= 0:
		return fmt.Errorf("epoch is %d and unit is %d microseconds; the epoch is 0 or more, the unit 1 or more", m.Epoch, m.Unit)
	case m.LastTick <= 0 || m.Capacity <= 0:
		return fmt.Errorf("lastTick is %d and capacity is %d; both are 1 or more", m.LastTick, m.Capacity)
	case m.Floor < 0:
		return fmt.Errorf("floor is %d; a tick is 0 or more", m.Floor)
	}
	return nil
}

// slotRecord is the window of one worker ID and who has it.
type slotRecord struct {
	Version     int    `json:"version"`
	Worker      int    `json:"worker"`
	Token       string `json:"token"` // empty: released or retired
	Identity    string `json:"identity"`
	Holder      string `json:"holder"`
	Generation  uint64 `json:"generation"`
	Opened      int64  `json:"opened"` // NotBefore of the generation's first piece
	NotBefore   int64  `json:"notBefore"`
	NotAfter    int64  `json:"notAfter"`
	LastTick    int64  `json:"lastTick"`
	Fingerprint string `json:"fingerprint"`
	Since       int64  `json:"since"`   // the holder's clock at the acquisition, microseconds since 1970
	Renewed     int64  `json:"renewed"` // and at the last renewal
	TTL         int64  `json:"ttl"`     // milliseconds
	Retired     bool   `json:"retired"`
}

func (s slotRecord) check() error {
	switch {
	case s.Generation == 0:
		return errors.New("generation is 0; it starts at 1")
	case s.NotBefore < 0:
		return fmt.Errorf("notBefore is %d; a tick is 0 or more", s.NotBefore)
	case s.NotAfter < s.NotBefore:
		return fmt.Errorf("notAfter is %d and notBefore is %d; a window does not end before it begins", s.NotAfter, s.NotBefore)
	case s.Opened < 0 || s.Opened > s.NotAfter:
		return fmt.Errorf("opened is %d; it is between 0 and notAfter, which is %d", s.Opened, s.NotAfter)
	case s.NotAfter > s.LastTick:
		return fmt.Errorf("notAfter is %d; the layout ends at tick %d", s.NotAfter, s.LastTick)
	case s.TTL <= 0:
		return fmt.Errorf("ttl is %d ms; it is 1 or more", s.TTL)
	case s.Retired && s.Token != "":
		return errors.New("it is retired and has a token; one of them is wrong")
	}
	return nil
}

func (s slotRecord) ttl() time.Duration { return time.Duration(s.TTL) * time.Millisecond }

// ownerRecord is the value of an owner key.
type ownerRecord struct {
	Version int   `json:"version"`
	Renewed int64 `json:"renewed"` // the holder's clock, microseconds since 1970
	TTL     int64 `json:"ttl"`     // milliseconds; 0: retired
}

func (o ownerRecord) check() error {
	if o.TTL < 0 {
		return fmt.Errorf("ttl is %d ms; it is 0 or more", o.TTL)
	}
	return nil
}

// record is anything that is stored.
type record interface{ check() error }

// encode returns what is stored for r.
func encode(r record) (string, error) {
	b, err := json.Marshal(r)
	return string(b), err
}

// decode reads what encode wrote, strictly: every field once, in order, and none
// besides. Errors wrap coord.ErrInvalid and name the key.
func decode[R record](key string, b []byte) (R, error) {
	r, err := parseRecord[R](b)
	if err != nil {
		var zero R
		return zero, damaged(key, err)
	}
	return r, nil
}

// damaged is the error of a key whose value this driver cannot have written.
func damaged(key string, err error) error {
	return fmt.Errorf("%w etcd key %q: %w; it is not overwritten: restore it from a backup, or use another namespace", coord.ErrInvalid, key, err)
}

func parseRecord[R record](b []byte) (R, error) {
	var r R
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(b, &fields); err != nil {
		return r, fmt.Errorf("the value is not a JSON object, perhaps truncated: %w", err)
	}
	// The version first: what follows is only known for this one.
	if v, ok := fields["version"]; ok && string(v) != strconv.Itoa(recordVersion) {
		return r, fmt.Errorf("the value has version %s and this program reads version %d", v, recordVersion)
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return r, fmt.Errorf("the value is none of this driver: %w", err)
	}
	again, err := json.Marshal(r)
	if err != nil {
		return r, err
	}
	if !bytes.Equal(again, b) {
		return r, unlike(fields, again)
	}
	return r, r.check()
}

// unlike says why a value is not what the driver would have written for it.
func unlike(fields map[string]json.RawMessage, again []byte) error {
	var want map[string]json.RawMessage
	if err := json.Unmarshal(again, &want); err != nil {
		return err
	}
	for name := range want {
		if _, ok := fields[name]; !ok {
			return fmt.Errorf("the field %q is missing", name)
		}
	}
	return errors.New("a field is given twice, out of order, or in a form that this driver does not write")
}
