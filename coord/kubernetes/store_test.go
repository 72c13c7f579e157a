package kubernetes

import (
	"context"
	"crypto/rand"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
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
		var full atomic.Bool
		st := hand(tb, s.Client(t, "",
			func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
				if full.Load() && r.Method == http.MethodPost {
					return overQuota(r), nil
				}
				return next.RoundTrip(r)
			}), s.URL, ns, in)
		return storetest.Harness{
			Store: st,
			Count: func(tb testing.TB) int {
				tb.Helper()
				all, err := st.list(context.Background())
				if err != nil {
					tb.Fatal(err)
				}
				return 1 + len(all.slots) + len(all.marks)
			},
			Expire: func(tb testing.TB, worker int) {
				tb.Helper()
				Expire(tb, client, s.URL, ns, in, worker)
			},
			Hide: func(tb testing.TB, worker int) {
				tb.Helper()
				r := request{verb: "patch", name: SlotName(ns, worker)}
				if _, done, err := st.change(context.Background(), r,
					[]operation{{"remove", "/metadata/labels", nil}}, nil); !done {
					tb.Fatal(err)
				}
			},
			Full: func(testing.TB) { full.Store(true) },
		}
	})
}

// overQuota is the answer of an API server that makes no more Leases.
func overQuota(r *http.Request) *http.Response {
	w := httptest.NewRecorder()
	w.WriteHeader(http.StatusForbidden)
	_, _ = w.WriteString(`{"kind":"Status","message":"leases \"x\" is forbidden: exceeded ` +
		`quota: objects"}`)
	resp := w.Result()
	resp.Request = r
	return resp
}
