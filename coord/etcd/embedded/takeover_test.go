package embedded

import (
	"testing"

	"github.com/unalike-id/unalike/internal/safetytest"
)

// TestClose: the host closes in good order, here and in a process of its own, and
// those who joined take over.
func TestClose(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	host := startChild(t, dir, "stay")
	addresses := []string{host.Line(t)}
	first, second := openFolder(t, dir, "n"), openFolder(t, dir, "n")
	g := mustAcquire(t, second, request(1))
	second.Lost(g) // its watch is open when the server ends
	if address(first) != addresses[0] || address(second) != addresses[0] {
		t.Fatal("a coordinator did not join")
	}
	if err := host.In.Close(); err != nil {
		t.Fatal(err)
	}
	<-host.Done()
	eventually(t, "one of two takes over", func() bool {
		a := address(first)
		return a != "" && a != addresses[0] && a == address(second)
	})
	// In this process, the two are as independent as if they were in two.
	addresses = append(addresses, address(first))
	closing, staying := first, second
	if p := (folder{dir}).readPost(); p == nil || p.Address != addresses[1] {
		t.Fatalf("the folder says %+v; the server is at %s", p, addresses[1])
	}
	if err := closing.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the other one renews", func() bool {
		r, err := staying.Renew(within(t), g, g.NotAfter+1000)
		if err == nil && (r.Generation != g.Generation || r.NotAfter != g.NotAfter+1000 ||
			r.NotBefore != g.NotBefore) {
			safetytest.Of(t).Errorf("renewed to %v; want more of %v", r, g)
		}
		return err == nil
	})
}
