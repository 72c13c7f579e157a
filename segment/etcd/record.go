package etcd

import (
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/unalike-id/unalike/segment"
)

// record is the value of a tag's key.
type record struct {
	Version     int    `json:"version"`
	Next        int64  `json:"next"`
	Step        int64  `json:"step"`
	Description string `json:"description,omitempty"`
	Updated     int64  `json:"updated,omitempty"` // seconds since 1970
	Cluster     string `json:"cluster"`           // the ID of the cluster that it belongs to
	// how often somebody has said that it is as it should be
	Accepted int64 `json:"accepted,omitempty"`
	Line     bool  `json:"line,omitempty"` // others stand in line, see line
}

// formatVersion is that of a record.
const formatVersion = 1

func (r record) encode(now time.Time) (string, error) {
	r.Version, r.Updated = formatVersion, now.Unix()
	b, err := json.Marshal(r)
	return string(b), err
}

// decode reads a record. What its numbers are is not looked at: see checkNext and checkStep.
func decode(key string, value []byte) (r record, err error) {
	if err := json.Unmarshal(value, &r); err != nil {
		return record{}, fmt.Errorf("%w: key %s is damaged: %w", segment.ErrDamaged, key, err)
	}
	if r.Version != formatVersion {
		return record{}, fmt.Errorf("%w: key %s has version %d; this program reads version %d",
			segment.ErrInvalidConfig, key, r.Version, formatVersion)
	}
	return r, nil
}

// checkNext returns an error unless ranges can be taken of a tag.
func (r record) checkNext(tag, key string) error {
	return segment.CheckNext(tag, "next in key "+key, r.Next, math.MaxInt64)
}

// checkStep returns an error unless ranges can be taken by who names no step.
func (r record) checkStep(tag, key string) error {
	return segment.CheckStored(tag, "step in key "+key, r.Step)
}
