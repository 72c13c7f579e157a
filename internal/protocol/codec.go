package protocol

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Version is the version of everything that is stored but [Meta].
const Version = 1

// Record is anything that is stored. Check reports whether what was read makes sense.
type Record interface{ Check() error }

// Encode returns what is stored for r.
func Encode(r Record) (string, error) {
	b, err := json.Marshal(r)
	return string(b), err
}

// Decode reads what Encode wrote, strictly: every field once, in order, and none
// besides, but for what later versions have added to [Meta]. The error lacks the name
// under which the value was stored.
func Decode[R Record](b []byte) (R, error) {
	var r, zero R
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(b, &fields); err != nil {
		return zero, fmt.Errorf("the value is not a JSON object, perhaps truncated: %w", err)
	}
	// The version first: what follows is only known for this one.
	if err := checkVersion(r, fields); err != nil {
		return zero, err
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return zero, fmt.Errorf("the value is none of this driver: %w", err)
	}
	again, err := json.Marshal(r)
	switch {
	case err != nil:
		return zero, err
	case !bytes.Equal(again, b) || len(b) != sizeOf(fields):
		return zero, unlike(fields, again)
	}
	if err := r.Check(); err != nil {
		return zero, err
	}
	return r, nil
}

// checkVersion reports whether this program can read a record with these fields.
func checkVersion(r Record, fields map[string]json.RawMessage) error {
	version, given := fields["version"]
	_, isMeta := r.(Meta)
	switch {
	case !given:
		return nil // the field is missing: the reader will say so
	case !isMeta && string(version) != strconv.Itoa(Version):
		return fmt.Errorf("the value has version %s and this program reads version %d", version, Version)
	case isMeta:
		return checkMetaVersion(string(version), string(fields["minReader"]))
	}
	return nil
}

// sizeOf is the length of an object in which each of the fields is given once.
func sizeOf(fields map[string]json.RawMessage) int {
	size := len("{")
	for name, value := range fields {
		size += len(strconv.Quote(name)) + len(":,") + len(value)
	}
	return size
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
	return errors.New("a field is given twice, out of order, or in a form that this driver " +
		"does not write")
}

// Printable makes text fit for storing.
func Printable(s string) string { return strings.ToValidUTF8(s, "?") }

// Time is time.UnixMicro in UTC.
func Time(unixMicro int64) time.Time { return time.UnixMicro(unixMicro).UTC() }

// Stamp prints a time for an error message.
func Stamp(unixMicro int64) string { return Time(unixMicro).Format(time.RFC3339Nano) }
