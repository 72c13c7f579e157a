package local

import (
	"reflect"
	"testing"

	"github.com/unalike-id/unalike/internal/goldentest"
	"github.com/unalike-id/unalike/internal/statefile"
)

// TestGolden: a record of a state file of version 0.1.0 is read, and written as it was.
func TestGolden(t *testing.T) {
	t.Parallel()
	r := &record{
		Sequence: 4, Written: 1767323055000000, Window: 3000000, PID: 4711,
		Home: home{statefile.Home{Machine: "machine-1", Boot: "boot-1"}, 2049, 1234567},
		Grants: []*entry{{
			Worker: 7, Pair: pair{3, "K5TOKEN"}, Sent: pair{4, "K5NEXT"}, Current: piece{60000002, 60030002},
			Next: piece{60040002, 60070002},
			Mark: 60003002, Layout: "41/10/12/1ms/2024-01-01T00:00:00Z", Place: "etcd:/ids",
			Nonce: "K5NONCEOFTHENAMESPACE", Identity: "pod-a",
			TTL: 60000000, Renewed: 1767323055000000,
		}},
	}
	text, err := format.Encode(r)
	if err != nil {
		t.Fatal(err)
	}
	before := *r
	before.Sequence--
	older, err := format.Encode(&before)
	if err != nil {
		t.Fatal(err)
	}
	file := make([]byte, 2*recordSize)
	copy(file, goldentest.Same(t, "unalike.state", string(text)))
	copy(file[recordSize:], older)
	got, why, err := newestOf(file)
	if err != nil || why != "" || !reflect.DeepEqual(got, r) {
		t.Errorf("it is read as %+v, %q, %v; want %+v", got, why, err, r)
	}
}
