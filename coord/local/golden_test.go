package local

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/unalike-id/unalike/internal/goldentest"
)

// TestGolden: the content of a state file of version 0.1.0 is read, and written as it was.
func TestGolden(t *testing.T) {
	t.Parallel()
	want := []*entry{{
		Worker: 7, Pair: pair{3, "K5TOKEN"}, Sent: pair{4, "K5NEXT"}, Current: piece{60000002, 60030002},
		Next: piece{60040002, 60070002},
		Mark: 60003002, Layout: "41/10/12/1ms/2024-01-01T00:00:00Z", Place: "etcd:/ids",
		Nonce: "K5NONCEOFTHENAMESPACE", Identity: "pod-a",
		TTL: 60000000, Renewed: 1767323055000000,
	}}
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got []*entry
	err = json.Unmarshal([]byte(goldentest.Same(t, "grants.json", string(text))), &got)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("it is read as %+v, %v; want %+v", got, err, want)
	}
}
