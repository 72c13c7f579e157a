package etcd

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

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
	// Used is a number that a program has handed out before it found Next at or below it. No range is
	// taken until Next is above it.
	Used int64 `json:"used,omitempty"`
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

// encode returns a value as JSON. The values here have no field that cannot be encoded.
func encode(value any) string {
	b, _ := json.Marshal(value)
	return string(b)
}

// decode reads the value of a key, whose version is stored in it.
func decode(key string, b []byte, value any, version *int) error {
	if err := json.Unmarshal(b, value); err != nil {
		return fmt.Errorf("%w: key %s is damaged: %w", segment.ErrDamaged, key, err)
	}
	if *version != formatVersion {
		return fmt.Errorf("%w: key %s has version %d; this program reads version %d",
			segment.ErrInvalidConfig, key, *version, formatVersion)
	}
	return nil
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

// clusterOf returns the ID of the cluster that has answered.
func clusterOf(h *pb.ResponseHeader) string { return strconv.FormatUint(h.GetClusterId(), 16) }

// checkNext returns an error unless ranges can be taken of a tag.
func (r record) checkNext(tag, key string) error {
	return segment.CheckNext(tag, "next in key "+key, r.Next, math.MaxInt64)
}

// checkStep returns an error unless ranges can be taken by who names no step.
func (r record) checkStep(tag, key string) error {
	return segment.CheckStored(tag, "step in key "+key, r.Step)
}
