package zk_test

import (
	"crypto/rand"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/zk"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/safetytest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
	"github.com/unalike-id/unalike/internal/testserver/zktest"
)

// quarantine is how long nothing is granted after a loss was noticed, in ticks.
const quarantine = int64((zk.MaxHorizon + zk.DefaultSkewBound) / time.Millisecond)

// rollBack gives a server the data back that it had when keep was called.
func keep(tb testing.TB, s *zktest.Server) (rollBack func()) {
	tb.Helper()
	s.Kill()
	rollBack = restorable(tb, s)
	s.Restart(tb)
	return rollBack
}

// restorable is keep for a server to which nobody writes just now: it serves meanwhile.
// A server that was rolled back ends with tb.
func restorable(tb testing.TB, s *zktest.Server) (rollBack func()) {
	tb.Helper()
	copied := tb.TempDir()
	if err := os.CopyFS(copied, os.DirFS(s.Dir)); err != nil {
		tb.Fatal(err)
	}
	return func() {
		tb.Helper()
		s.Kill()
		if err := os.RemoveAll(s.Dir); err != nil {
			tb.Fatal(err)
		}
		if err := os.CopyFS(s.Dir, os.DirFS(copied)); err != nil {
			tb.Fatal(err)
		}
		s.Restart(tb)
	}
}

// TestRolledBack: the data folder of the server is put back to an earlier state. The
// server refuses the connection of a holder that has seen later transactions; the
// holder opens another session, sees that transactions were lost, and raises the
// floor. Nothing is extended or granted until the windows that were lost are over.
func TestRolledBack(t *testing.T) {
	t.Parallel()
	server := zktest.Start(t, zktest.Options{})
	ns := rand.Text()
	// The loss on record explains nothing that was seen within twice the bound before it.
	// So it is not by this that what the holder knows is no further loss.
	const bound = time.Minute
	c := newCoordinator(t, []string{server.Addr}, ns, &zk.Options{SkewBound: bound})
	req := request(4)
	req.TTL = 2 * time.Second
	g := mustAcquire(t, c, req)
	rollBack := keep(t, server)
	for range 20 {
		var err error
		if g, err = c.Renew(within(t), g, g.NotAfter+10); err != nil {
			t.Fatal(err)
		}
	}
	lost := mustAcquire(t, newCoordinator(t, []string{server.Addr}, ns, nil), request(4))
	rollBack()

	before, quarantine := tickNow(), (zk.MaxHorizon + bound).Milliseconds()
	var quarantined *coord.QuarantinedError
	streamtest.Eventually(t, "the loss is noticed", func() bool {
		h, err := c.Renew(within(t), g, tickNow()+10_000)
		if err == nil {
			safetytest.Of(t).Fatalf("Renew of %v after the loss: %v", g, h)
		}
		if errors.Is(err, coord.ErrLeaseLost) {
			t.Fatalf("Renew of %v after the loss: %v", g, err)
		}
		return errors.As(err, &quarantined)
	})
	if floor := scale().Tick(quarantined.Until.UnixMicro()); floor < before+quarantine {
		safetytest.Of(t).Errorf("quarantined until tick %d; want at least %d", floor, before+quarantine)
	}
	for _, who := range []protocol.Full{
		c,
		newCoordinator(t, []string{server.Addr}, ns, &zk.Options{SkewBound: bound}),
	} {
		if h := mustAcquire(t, who, request(4)); h.NotBefore < before+quarantine ||
			h.NotBefore < lost.NotAfter {
			safetytest.Of(t).Errorf("%v was granted after the loss, which forgot %v; want from %d on", h,
				lost, before+quarantine)
		}
	}
}

// TestElectionAfterALoss: an election after a restore gives transactions higher numbers
// than before. A holder notices the loss all the same, of its first grant too, in the session
// that it had before; also if it asks for another one and shows nothing of the first.
func TestElectionAfterALoss(t *testing.T) {
	t.Parallel()
	const notRenewed = "the grant, and it is not renewed,"
	server := zktest.Start(t, zktest.Options{Elects: true})
	for _, lost := range []string{"the grant", "a renewal", notRenewed} {
		ns := rand.Text()
		c := newCoordinator(t, []string{server.Addr}, ns, nil)
		if err := c.Init(within(t), space()); err != nil {
			t.Fatal(err)
		}
		rollBack := restorable(t, server)
		g := mustAcquire(t, c, request(3))
		if lost == "a renewal" {
			rollBack = restorable(t, server)
		}
		other := mustAcquire(t, newCoordinator(t, []string{server.Addr}, ns, nil), request(3))
		if lost == "a renewal" {
			var err error
			if g, err = c.Renew(within(t), g, g.NotAfter+1); err != nil {
				t.Fatal(err)
			}
		}
		rollBack()
		before := tickNow()
		if lost != notRenewed {
			if h, err := c.Renew(within(t), g, g.NotAfter+1); !errors.Is(err, coord.ErrQuarantined) &&
				!errors.Is(err, coord.ErrLeaseLost) {
				safetytest.Unless(t, err).Errorf("Renew of %v after %s was lost: %v, %v", g, lost, h, err)
			}
		}
		for range 2 {
			if h := mustAcquire(t, c, request(3)); h.NotBefore < before+quarantine ||
				h.NotBefore < max(other.NotAfter, g.NotAfter) {
				safetytest.Of(t).Errorf("%v was granted after a loss of %s, which forgot %v and %v; want "+
					"from %d on", h, lost, other, g, before+quarantine)
			}
		}
	}
}

// deleteTree deletes a node and everything below it.
func (o operator) deleteTree(tb testing.TB, path string) {
	tb.Helper()
	names, _, err := o.Children(path)
	if err != nil {
		tb.Fatal(err)
	}
	for _, name := range names {
		o.deleteTree(tb, path+"/"+name)
	}
	if err := o.Delete(path, -1); err != nil {
		tb.Fatal(err)
	}
}
