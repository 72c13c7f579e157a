package etcd

import (
	"encoding/json"
	"fmt"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/unalike-id/unalike/internal/tagstore"
	"github.com/unalike-id/unalike/segment"
)

// record is the value of a tag's key.
type record struct {
	Version int `json:"version"`
	tagstore.Record
	// Cluster is the ID of the cluster in which the key was written. It is evidence for a namespace
	// that has no cluster record yet.
	Cluster string `json:"cluster"`
	// Skipped is the part of the cluster record's sum that Next includes.
	Skipped int64 `json:"skipped,omitempty"`
	// Accepted is the stamp of the refusal in spite of which an operator has advanced the tag.
	Accepted int64 `json:"accepted,omitempty"`
	// Used is above a number that a program has handed out before it found Next below it. No range is
	// taken until Next is there again.
	Used int64 `json:"used,omitempty"`
	// Write is random, so that no two writes have the same value.
	Write uint64 `json:"write,omitempty"`
}

// cluster is the value of the key that names the cluster of all tags of a namespace.
type cluster struct {
	Version int    `json:"version"`
	Cluster string `json:"cluster"` // its ID
	// Stamp rises with each change of the record.
	Stamp int64 `json:"stamp"`
	// A tag that includes less than this gets the rest when it is used next.
	tagstore.Shared
	// Refused describes the cluster before, while every program refuses this one. Empty: none does.
	Refused string `json:"refused,omitempty"`
}

// formatVersion is that of both.
const formatVersion = 1

// encode returns a record as JSON. No record has a field that cannot be encoded.
func encode(record any) string {
	b, _ := json.Marshal(record)
	return string(b)
}

// decode reads a key, if there is one, and the version in its value.
func decode(kvs []*mvccpb.KeyValue, record any, version *int) (stored string, err error) {
	if len(kvs) == 0 {
		return "", nil
	}
	key := kvs[0].Key
	if err := json.Unmarshal(kvs[0].Value, record); err != nil {
		return "", fmt.Errorf("%w: key %s is damaged: %w", segment.ErrDamaged, key, err)
	}
	if *version != formatVersion {
		return "", fmt.Errorf("%w: key %s has version %d; this program reads version %d",
			segment.ErrInvalidConfig, key, *version, formatVersion)
	}
	return string(kvs[0].Value), nil
}

// include adds the skipped numbers that the tag does not include.
func (r *record) include(c cluster) {
	r.Raise(max(0, c.Skipped-r.Skipped))
	r.Skipped = max(r.Skipped, c.Skipped)
}
