package coordinators

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/kubernetes"
	"github.com/unalike-id/unalike/internal/testserver/kubetest"
)

// openKubernetes opens namespaces as a pod does: with TLS, and one connection for all requests.
func openKubernetes(tb testing.TB) opener {
	tb.Helper()
	s := kubetest.Start(tb)
	client, in := s.Client(tb, "", nil), s.Namespace(tb)
	return func(_ context.Context, namespace string) (coord.Coordinator, error) {
		// a lease ends by the skew bound later, so that is as it is
		return kubernetes.New(client, s.URL, namespace, kubernetes.Options{In: in})
	}
}

// BenchmarkPatch is what no renewal can be faster than: a bare PATCH of a Lease, with the same
// client, that tests and replaces an annotation as long as a record.
func BenchmarkPatch(b *testing.B) {
	s := kubetest.Start(b)
	client := s.Client(b, "", nil)
	leases := "/apis/coordination.k8s.io/v1/namespaces/" + s.Namespace(b) + "/leases"
	text := func(n int) string { return fmt.Sprintf("%0700d", n) }
	s.Apply(b, leases, "application/json",
		fmt.Appendf(nil,
			`{"apiVersion":"coordination.k8s.io/v1","kind":"Lease",`+
				`"metadata":{"name":"bare","annotations":{"record":%q}}}`, text(0)))
	b.Run("coordinator=PATCH/call=renew", func(b *testing.B) {
		n := 0
		for b.Loop() {
			patch := fmt.Appendf(nil,
				`[{"op":"test","path":%[1]q,"value":%[2]q},{"op":"replace","path":%[1]q,"value":%[3]q}]`,
				"/metadata/annotations/record", text(n), text(n+1))
			send(b, client, http.MethodPatch, s.URL+leases+"/bare", patch)
			n++
		}
		b.StopTimer()
		s.Do(http.MethodPatch, leases+"/bare", "application/merge-patch+json",
			fmt.Appendf(nil, `{"metadata":{"annotations":{"record":%q}}}`, text(0)))
	})
}

// send makes a request, which must succeed, and reads the answer.
func send(b *testing.B, client *http.Client, method, url string, patch []byte) {
	b.Helper()
	req, err := http.NewRequestWithContext(b.Context(), method, url, bytes.NewReader(patch))
	if err != nil {
		b.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json-patch+json")
	resp, err := client.Do(req)
	if err != nil {
		b.Fatal(err)
	}
	defer resp.Body.Close() // it is only read
	answer, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		b.Fatalf("status %d, %v: %s", resp.StatusCode, err, answer)
	}
}
