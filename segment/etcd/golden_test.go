package etcd

import (
	"testing"
	"time"

	"github.com/unalike-id/unalike/internal/goldentest"
)

// TestGolden: the key of a tag is read as version 0.1.0 has written it, and written as it was.
func TestGolden(t *testing.T) {
	t.Parallel()
	r := record{
		Version: formatVersion, Next: 20001, Step: 1000, Description: "orders",
		Updated: 1767323055, Cluster: "cdf818194e3a8c32", Accepted: 1, Line: true,
	}
	text, err := r.encode(time.Unix(r.Updated, 0))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := decode("key", []byte(goldentest.Same(t, "tag.json", text+"\n"))); err != nil ||
		got != r {
		t.Errorf("it is read as %+v, %v; want %+v", got, err, r)
	}
}
