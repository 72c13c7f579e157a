//go:build unix

package kubernetes_test

import (
	"os"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/kubernetes"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/testserver/fulltest"
	"github.com/unalike-id/unalike/internal/testserver/kubetest"
	"github.com/unalike-id/unalike/internal/testserver/proxytest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
)

// TestMinority: of two API servers behind a balancer one cannot reach the store, which gives
// errors, or no answers, or is frozen. Nobody who wants IDs notices, newcomers start, and an
// operator gets through, at another attempt if each connection of one was led to that server.
func TestMinority(t *testing.T) {
	t.Parallel()
	c := ownCluster(t)
	token := apply(t, c)
	path := proxytest.Start(t, c.Etcd.Endpoint)
	bad := c.Another(t, path.Addr)
	b := kubetest.Balance(t, bad, c.Server)
	var ca [][]byte
	for _, s := range []*kubetest.Server{c.Server, bad} {
		pem, err := os.ReadFile(s.CA)
		if err != nil {
			t.Fatal(err)
		}
		ca = append(ca, pem)
	}
	folder := podOf(t, c.in, token, ca...)
	open := func() *kubernetes.Coordinator {
		return kubernetes.OpenPod(t, "kubernetes://?namespace=orders", folder, b.URL)
	}
	for _, o := range []struct {
		name        string
		begin, over func()
	}{
		{"its store does not answer", path.Hang, path.Heal},
		{"its store refuses", path.Refuse, path.Heal},
		{"it is frozen", func() { bad.Freeze(t) }, func() { bad.Thaw(t) }},
	}[:fulltest.Rounds(1, 3)] {
		minority(t, o.name, b, open, o.begin)
		o.over()
	}
}

// through has an operator try until it is done.
func through(t *testing.T, name string, k *kubernetes.Coordinator) {
	t.Helper()
	for range tries {
		_, err := k.Quarantine(drivertest.Within(t), floorIn(0))
		if err == nil {
			return
		}
		t.Logf("%s: Quarantine: %v", name, err)
	}
	t.Errorf("%s: an operator has not got through in %d attempts", name, tries)
}

// tries is how often an operator tries. One attempt makes several connections.
const tries = 4

// minority begins something, and looks whether everybody gets through.
func minority(t *testing.T, name string, b *kubetest.Balancer, open func() *kubernetes.Coordinator, begin func()) {
	t.Helper()
	lease := coord.LeaseConfig{TTL: 4 * time.Second, Horizon: 30 * time.Second, RenewEvery: 500 * time.Millisecond}
	var all [4]*core.Generator // at both servers
	var ids [len(all)]*streamtest.Stream
	var before [len(all)]core.WorkerHealth
	for i := range all {
		all[i] = streamtest.Generate(t, open(), core.Config{Lease: lease})
		ids[i], before[i] = streamtest.Run(all[i]), streamtest.Worker(t, all[i])
	}
	k := open()
	begin()
	moment, led := time.Now(), b.Passed(0)
	through(t, name, k)
	t.Logf("%s: an operator got through after %v", name, time.Since(moment))
	for _, g := range all {
		streamtest.RenewedSince(t, g, moment)
	}
	t.Logf("%s: all renewed after %v", name, time.Since(moment))
	moment = time.Now()
	streamtest.Worker(t, streamtest.Generate(t, open(), core.Config{Lease: lease}))
	t.Logf("%s: a newcomer after %v; %d connections were led to that server", name, time.Since(moment), b.Passed(0)-led)
	for i, g := range all {
		streamtest.RenewedSince(t, g, time.Now())
		ids[i].Stop(t, 100)
		if now := streamtest.Worker(t, g); now.WorkerID != before[i].WorkerID {
			t.Errorf("%s: worker ID %d became %d", name, before[i].WorkerID, now.WorkerID)
		}
	}
}
