package kubernetes

import (
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
		return storetest.Harness{
			Store:  hand(tb, client, s.URL, ns, in),
			Expire: func(tb testing.TB, worker int) { tb.Helper(); Expire(tb, client, s.URL, ns, in, worker) },
		}
	})
}
