package etcd

import (
	"testing"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/unalike-id/unalike/internal/goldentest"
	"github.com/unalike-id/unalike/internal/tagstore"
)

// TestGolden: the key of a tag is read as version 0.1.0 has written it, and written as it was.
func TestGolden(t *testing.T) {
	t.Parallel()
	want := record{
		Version: formatVersion, Cluster: "cdf818194e3a8c32", Accepted: 1,
		Record: tagstore.Record{
			Next: 20001, Step: 1000, Description: "orders", Updated: 1767323055,
		},
	}
	text := goldentest.Same(t, "tag.json", encode(want)+"\n")
	var got record
	kvs := []*mvccpb.KeyValue{{Key: []byte("key"), Value: []byte(text)}}
	if _, err := decode(kvs, &got, &got.Version); err != nil || got != want {
		t.Errorf("it is read as %+v, %v; want %+v", got, err, want)
	}
}
