package etcd

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/unalike-id/unalike/segment"
)

// record is the value of a tag's key.
type record struct {
	Version     int    `json:"version"`
	Next        int64  `json:"next"`
	Step        int64  `json:"step"`
	Description string `json:"description,omitempty"`
	Updated     int64  `json:"updated,omitempty"` // seconds since 1970
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
	// Skipped is the sum of the numbers that were added to every tag, last at SkippedAt. A tag that
	// includes less gets the rest when it is used next.
	Skipped   int64 `json:"skipped,omitempty"`
	SkippedAt int64 `json:"skipped_at,omitempty"` // seconds since 1970
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

// damage returns an error unless ranges can be taken of a tag, with the step of the taker if that is
// not 0.
func (r record) damage(tag, key string, step int64) error {
	return cmp.Or(segment.CheckNext(tag, "next in key "+key, r.Next, math.MaxInt64),
		segment.CheckStored(tag, "step in key "+key, cmp.Or(step, r.Step)))
}

// include adds the skipped numbers that the tag does not include. It leaves a damaged number alone.
func (r *record) include(c cluster) {
	if r.Next >= 0 {
		r.Next += min(max(0, c.Skipped-r.Skipped), math.MaxInt64-r.Next)
	}
	r.Skipped = max(r.Skipped, c.Skipped)
}

// skip adds a number to every tag.
func (c *cluster) skip(by int64) {
	c.Refused = ""
	if by > 0 {
		c.Skipped += min(by, math.MaxInt64-c.Skipped)
		c.SkippedAt = time.Now().Unix()
	}
}
