package zk

import (
	"testing"
	"time"

	client "github.com/go-zookeeper/zk"

	"github.com/unalike-id/unalike/internal/testserver/zktest"
)

// TestOrder: what is read after a write, in one round trip with it, is what was written.
func TestOrder(t *testing.T) {
	opened, err := newStore(t, zktest.Start(t, zktest.Options{})).Open("", 15*time.Second, 0)
	if err != nil {
		t.Fatal(err)
	}
	s := opened.(*session)
	requests := []request{create("/node", client.WorldACL(client.PermAll))}
	for range 100 {
		requests = append(requests, set("/node", nil), get("/node"), get("/node"))
	}
	replies, err := s.together(t.Context(), requests...)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range replies[1:] {
		if want := int32(i/3 + 1); r.err != nil || r.stat.Version != want {
			t.Fatalf("request %d of %d: %v, %v; want version %d", i, len(requests), r.stat, r.err, want)
		}
	}
}
