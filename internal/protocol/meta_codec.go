package protocol

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// metaFields is [Meta] without its methods.
type metaFields Meta

// metaNames are the names of the fields that this program knows.
var metaNames = func() map[string]bool {
	names := map[string]bool{}
	value, _ := json.Marshal(metaFields{})
	_ = eachField(value, func(name string, _ json.RawMessage) error {
		names[name] = true
		return nil
	})
	return names
}()

// MarshalJSON writes the known fields and then the unknown ones, as they were read.
func (m Meta) MarshalJSON() ([]byte, error) {
	value, err := json.Marshal(metaFields(m))
	if err != nil || m.unknown == "" {
		return value, err
	}
	return append(append(value[:len(value)-1], m.unknown...), '}'), nil
}

// UnmarshalJSON keeps the fields that it does not know. What else is wrong with the
// value, [Decode] finds out.
func (m *Meta) UnmarshalJSON(value []byte) error {
	var known, unknown strings.Builder
	seen := map[string]bool{}
	err := eachField(value, func(name string, field json.RawMessage) error {
		if seen[name] {
			return fmt.Errorf("the field %q is given twice", name)
		}
		seen[name] = true
		quoted, err := json.Marshal(name)
		if err != nil {
			return err
		}
		into := &unknown
		if metaNames[name] {
			into = &known
		}
		_, err = fmt.Fprintf(into, ",%s:%s", quoted, field)
		return err
	})
	if err != nil {
		return err
	}
	var f metaFields
	d := json.NewDecoder(strings.NewReader("{" + strings.TrimPrefix(known.String(), ",") + "}"))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		return err
	}
	*m = Meta(f)
	m.unknown = unknown.String()
	return nil
}

// eachField calls f for each field of a JSON object, in order.
func eachField(object []byte, f func(name string, value json.RawMessage) error) error {
	d := json.NewDecoder(bytes.NewReader(object))
	if start, err := d.Token(); err != nil || start != json.Delim('{') {
		return errors.Join(errors.New("the value is not a JSON object"), err)
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return err
		}
		if err := f(fmt.Sprint(name), value); err != nil {
			return err
		}
	}
	return nil
}

// readsVersion is the latest version of [Meta] that this program can read.
const readsVersion = DeclaredVersion

// checkMetaVersion reports whether this program can read a namespace's record of a
// version that later versions from minReader on can read.
func checkMetaVersion(version, minReader string) error {
	v, err := strconv.Atoi(version)
	if err != nil || v < 1 {
		return fmt.Errorf("version is %s; it is 1 or more", version)
	}
	if v < MetaVersion {
		return fmt.Errorf("the namespace was made by a version of unalike before the first release (record version %d, this program reads version %d); "+
			"stop its generators, then declare a new namespace above it: take another namespace name, 'unalike init' it, and raise its floor with "+
			"'unalike quarantine --until' to a time that the old one cannot have reached", v, readsVersion)
	}
	if minReader == "" {
		return nil // the field is missing: the reader will say so
	}
	least, err := strconv.Atoi(minReader)
	if err != nil || least > readsVersion {
		return fmt.Errorf("the namespace was made or changed by a later version of unalike, and wants programs that read record version %s; this one reads version %d: update this program", minReader, readsVersion)
	}
	return nil
}
