package etcd

import (
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/internal/goldentest"
)

// TestGolden: the key of a tag is read as version 0.1.0 has written it, and written as it was.
func TestGolden(t *testing.T) {
	t.Parallel()
	r := record{
		Version: formatVersion, Next: 20001, Step: 1000, Description: "orders",
		Updated: 1767323055, Cluster: "cdf818194e3a8c32", Accepted: 1,
	}
	text := goldentest.Read(t, "tag.json")
	if got, err := decode("key", []byte(text)); err != nil || got != r {
		t.Errorf("it is read as %+v, %v; want %+v", got, err, r)
	}
	got, err := r.encode(time.Unix(r.Updated, 0))
	// Version 0.1.0 has noted that others stood in line, on which nothing depends.
	if want := strings.Replace(text, `,"line":true`, "", 1); err != nil || got+"\n" != want {
		t.Errorf("it is written as %s, %v; want %s", got, err, want)
	}
}
