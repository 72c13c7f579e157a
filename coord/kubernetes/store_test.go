package kubernetes

import (
	"context"
	"crypto/rand"
	"testing"

	"github.com/unalike-id/unalike/internal/protocol/storetest"
	"github.com/unalike-id/unalike/internal/testserver/kubetest"
)

// TestStore holds the store to its interface.
func TestStore(t *testing.T) {
	s := kubetest.Shared(t)
	in, client := s.Namespace(t), s.Client(t, "", nil)
	storetest.Run(t, func(tb testing.TB) storetest.Harness {
		tb.Helper()
		ns := rand.Text()
		st := hand(tb, client, s.URL, ns, in)
		return storetest.Harness{
			Store: st,
			Count: func(tb testing.TB) int {
				tb.Helper()
				all, err := st.list(context.Background())
				if err != nil {
					tb.Fatal(err)
				}
				return 1 + len(all.slots)
			},
			Expire: func(tb testing.TB, worker int) { tb.Helper(); Expire(tb, client, s.URL, ns, in, worker) },
		}
	})
}
