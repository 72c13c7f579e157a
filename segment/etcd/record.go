package etcd

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/unalike-id/unalike/segment"
)

// record is the value of a tag's key.
type record struct {
	Version     int    `json:"version"`
	Next        int64  `json:"next"`
	Step        int64  `json:"step"`
	Description string `json:"description,omitempty"`
	Updated     int64  `json:"updated,omitempty"`  // seconds since 1970
	Cluster     string `json:"cluster"`            // the ID of the cluster that it belongs to
	Accepted    int64  `json:"accepted,omitempty"` // how often somebody has said that it is as it should be
}

// formatVersion is that of a record.
const formatVersion = 1

func (r record) encode(now time.Time) (string, error) {
	r.Version, r.Updated = formatVersion, now.Unix()
	b, err := json.Marshal(r)
	return string(b), err
}

func decode(key string, value []byte) (r record, err error) {
	if err := json.Unmarshal(value, &r); err != nil {
		return r, fmt.Errorf("%w: key %s is damaged: %w", segment.ErrInvalidConfig, key, err)
	}
	if r.Version != formatVersion || r.Next < 0 || r.Step < 1 || r.Step > segment.MaxStep {
		return r, fmt.Errorf("%w: key %s has version %d, next %d and step %d; this program reads version %d with a step from 1 to %d",
			segment.ErrInvalidConfig, key, r.Version, r.Next, r.Step, formatVersion, int64(segment.MaxStep))
	}
	return r, nil
}
