package protocol

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
)

// metaFields is [Meta] without its methods.
type metaFields Meta

// MarshalJSON writes the known fields and then the unknown ones, as they were read.
func (m Meta) MarshalJSON() ([]byte, error) {
	value, err := json.Marshal(metaFields(m))
	if err != nil || m.unknown == "" {
		return value, err
	}
	return append(append(value[:len(value)-1], m.unknown...), '}'), nil
}

// UnmarshalJSON keeps what follows the fields that it knows. What else is wrong with the
// value, [Decode] finds out.
func (m *Meta) UnmarshalJSON(value []byte) error {
	var f metaFields
	if err := json.Unmarshal(value, &f); err != nil {
		return err
	}
	known, err := json.Marshal(f)
	if err != nil {
		return err
	}
	*m = Meta(f)
	if rest, ok := bytes.CutPrefix(value, known[:len(known)-1]); ok {
		m.unknown = string(rest[:len(rest)-1])
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
		return fmt.Errorf("the namespace was made by a version of unalike before the first release "+
			"(record version %d, this program reads version %d); "+
			"stop its generators, then declare a new namespace above it: take another namespace name, "+
			"'unalike init' it, and raise its floor with "+
			"'unalike quarantine --until' to a time that the old one cannot have reached", v, readsVersion)
	}
	if minReader == "" {
		return nil // the field is missing: the reader will say so
	}
	least, err := strconv.Atoi(minReader)
	if err != nil || least > readsVersion {
		return fmt.Errorf("the namespace was made or changed by a later version of unalike, and wants "+
			"programs that read record version %s; this one reads version %d: update this program",
			minReader, readsVersion)
	}
	return nil
}
