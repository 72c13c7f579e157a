package zk_test

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"os"
	"testing"
	"time"

	client "github.com/go-zookeeper/zk"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/zk"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
	"github.com/unalike-id/unalike/internal/testserver/zktest"
)

// ward is how long nothing is granted after a loss was noticed, in ticks.
const ward = int64((zk.MaxHorizon + zk.DefaultSkewBound) / time.Millisecond)

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

	before, ward := tickNow(), (zk.MaxHorizon + bound).Milliseconds()
	var quarantined *coord.QuarantinedError
	streamtest.Eventually(t, "the loss is noticed", func() bool {
		h, err := c.Renew(within(t), g, tickNow()+10_000)
		if err == nil {
			t.Fatalf("Renew of %v after the loss: %v", g, h)
		}
		if errors.Is(err, coord.ErrLeaseLost) {
			t.Fatalf("Renew of %v after the loss: %v", g, err)
		}
		return errors.As(err, &quarantined)
	})
	if floor := scale().Tick(quarantined.Until.UnixMicro()); floor < before+ward {
		t.Errorf("quarantined until tick %d; want at least %d", floor, before+ward)
	}
	// The holder comes with what it had before the loss, again and again. That is no
	// further loss.
	for range 3 {
		var still *coord.QuarantinedError
		if h, err := c.Renew(within(t), g, tickNow()+10_000); !errors.As(err, &still) || !still.Until.Equal(quarantined.Until) {
			t.Errorf("Renew in quarantine until %v: %v, %v", quarantined.Until, h, err)
		}
	}
	for _, who := range []*zk.Coordinator{c, newCoordinator(t, []string{server.Addr}, ns, &zk.Options{SkewBound: bound})} {
		if h := mustAcquire(t, who, request(4)); h.NotBefore < before+ward || h.NotBefore < lost.NotAfter {
			t.Errorf("%v was granted after the loss, which forgot %v; want from %d on", h, lost, before+ward)
		}
	}
}

// TestElectionAfterALoss: an election after a restore gives transactions higher numbers
// than before. A holder notices the loss by its slot.
func TestElectionAfterALoss(t *testing.T) {
	t.Parallel()
	server := zktest.StartEnsemble(t, 1, zktest.Options{}).Servers[0]
	ns := rand.Text()
	c := newCoordinator(t, []string{server.Addr}, ns, nil)
	g := mustAcquire(t, c, request(3))
	rollBack := restorable(t, server)
	lost := mustAcquire(t, newCoordinator(t, []string{server.Addr}, ns, nil), request(3))
	g, err := c.Renew(within(t), g, g.NotAfter+1)
	if err != nil {
		t.Fatal(err)
	}
	rollBack()
	before := tickNow()
	if h, err := c.Renew(within(t), g, g.NotAfter+1); !errors.Is(err, coord.ErrQuarantined) {
		t.Errorf("Renew of %v after the loss: %v, %v", g, h, err)
	}
	for range 2 {
		if h := mustAcquire(t, c, request(3)); h.NotBefore < before+ward || h.NotBefore < max(lost.NotAfter, g.NotAfter) {
			t.Errorf("%v was granted after the loss, which forgot %v and %v; want from %d on", h, lost, g, before+ward)
		}
	}
}

// TestQuarantineAfterRestore shows what cannot be noticed: who starts after a loss
// takes the ensemble as it is. The runbook has the operator declare the quarantine.
func TestQuarantineAfterRestore(t *testing.T) {
	t.Parallel()
	server := zktest.Start(t, zktest.Options{})
	ns := rand.Text()
	mustAcquire(t, newCoordinator(t, []string{server.Addr}, ns, nil), request(4))
	rollBack := keep(t, server)
	lost := mustAcquire(t, newCoordinator(t, []string{server.Addr}, ns, nil), request(4))
	rollBack()
	c := newCoordinator(t, []string{server.Addr}, ns, nil)
	floor, err := c.Quarantine(within(t), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	if h := mustAcquire(t, c, request(4)); h.NotBefore < lost.NotAfter || h.NotBefore < scale().Tick(floor.UnixMicro()) {
		t.Errorf("%v was granted with a floor at %v, and %v was forgotten", h, floor, lost)
	}
}

// TestReplayBelowTheFloor: the answer to a grant does not arrive, and before the request
// is made again, the floor is raised. What was granted is given up: if the floor was
// raised because windows were lost, it may overlap with one of them.
func TestReplayBelowTheFloor(t *testing.T) {
	t.Parallel()
	server := zktest.Start(t, zktest.Options{})
	ns := rand.Text()
	drivertest.ReplayBelowTheFloor(t, func() coord.Coordinator { return newCoordinator(t, []string{server.Addr}, ns, nil) })
}

// TestNamespaceDeleted: who remembers a namespace that is gone makes it anew with a
// floor.
func TestNamespaceDeleted(t *testing.T) {
	server := zktest.Start(t, zktest.Options{})
	ns, o := rand.Text(), newOperator(t, []string{server.Addr})
	c := newCoordinator(t, []string{server.Addr}, ns, nil)
	g := mustAcquire(t, c, request(1))
	o.deleteTree(t, spacePath(ns))
	before := tickNow()
	if h, err := c.Renew(within(t), g, g.NotAfter+1000); !errors.Is(err, coord.ErrLeaseLost) {
		t.Errorf("Renew in a namespace that is gone: %v, %v; want %v", h, err, coord.ErrLeaseLost)
	}
	if h := mustAcquire(t, c, request(1)); h.NotBefore < before+ward {
		t.Errorf("%v was granted after the loss; want from %d on", h, before+ward)
	}
}

// TestSlotDeleted: likewise for a slot.
func TestSlotDeleted(t *testing.T) {
	server := zktest.Start(t, zktest.Options{})
	ns, o := rand.Text(), newOperator(t, []string{server.Addr})
	c := newCoordinator(t, []string{server.Addr}, ns, nil)
	g := mustAcquire(t, c, request(1))
	o.deleteTree(t, slotPath(ns, 0))
	before := tickNow()
	if h, err := c.Renew(within(t), g, g.NotAfter+1000); !errors.Is(err, coord.ErrLeaseLost) {
		t.Errorf("Renew without a slot: %v, %v; want %v", h, err, coord.ErrLeaseLost)
	}
	if h := mustAcquire(t, c, request(1)); h.NotBefore < before+ward {
		t.Errorf("%v was granted after the loss; want from %d on", h, before+ward)
	}
}

// TestVersionsComeAgain: after a loss, a node may have the same version again for
// another value. Versions alone would let these renewals through.
func TestVersionsComeAgain(t *testing.T) {
	server := zktest.Start(t, zktest.Options{})
	o := newOperator(t, []string{server.Addr})
	t.Run("slot", func(t *testing.T) {
		ns := rand.Text()
		c := newCoordinator(t, []string{server.Addr}, ns, nil)
		g := mustAcquire(t, c, request(1))
		// The same worker ID, version and generation, for another holder.
		o.forge(t, slotPath(ns, 0), func(fields map[string]any) { fields["token"] = "somebody-else" })
		if h, err := c.Renew(within(t), g, g.NotAfter+1000); !errors.Is(err, coord.ErrLeaseLost) {
			t.Errorf("Renew over somebody else's slot: %v, %v; want %v", h, err, coord.ErrLeaseLost)
		}
	})
	t.Run("window", func(t *testing.T) {
		ns := rand.Text()
		c := newCoordinator(t, []string{server.Addr}, ns, nil)
		g := mustAcquire(t, c, request(1))
		// The same holder and generation, for another window: an old acquisition was
		// repeated. What lies between the two was another holder's.
		from := g.NotAfter + 500
		o.forge(t, slotPath(ns, 0), func(fields map[string]any) {
			fields["opened"], fields["notBefore"], fields["notAfter"] = from, from, from+100
		})
		if h, err := c.Renew(within(t), g, from+1000); err == nil && h.NotBefore < from {
			t.Errorf("Renew of %v, of which the slot begins at %d: %v", g, from, h)
		}
	})
	t.Run("floor", func(t *testing.T) {
		ns := rand.Text()
		c := newCoordinator(t, []string{server.Addr}, ns, nil)
		g := mustAcquire(t, c, request(1))
		floor := g.NotAfter + 500
		o.forge(t, spacePath(ns)+"/meta", func(fields map[string]any) { fields["floor"] = floor })
		if h, err := c.Renew(within(t), g, floor+1000); err == nil && h.NotBefore < floor {
			t.Errorf("Renew of %v below a floor at %d: %v", g, floor, h)
		}
	})
}

// deleteTree deletes a node and everything below it.
func (o operator) deleteTree(tb testing.TB, path string) {
	tb.Helper()
	o.deleteChildren(tb, path)
	if err := o.Delete(path, -1); err != nil {
		tb.Fatal(err)
	}
}

// deleteChildren deletes everything below a node.
func (o operator) deleteChildren(tb testing.TB, path string) {
	tb.Helper()
	names, _, err := o.Children(path)
	if err != nil {
		tb.Fatal(err)
	}
	for _, name := range names {
		o.deleteTree(tb, path+"/"+name)
	}
}

// forge puts another value into a node, with what goes with it and with the same
// version, as a history would that went another way.
func (o operator) forge(tb testing.TB, path string, change func(fields map[string]any)) {
	tb.Helper()
	value, stat, err := o.Get(path)
	if err != nil {
		tb.Fatal(err)
	}
	fields := map[string]any{}
	change(fields)
	for name, v := range fields {
		raw, err := json.Marshal(v)
		if err != nil {
			tb.Fatal(err)
		}
		value = replaceField(value, name, raw)
	}
	o.deleteTree(tb, path)
	acl := client.WorldACL(client.PermAll)
	if _, err := o.Create(path, value, 0, acl); err != nil {
		tb.Fatal(err)
	}
	for range stat.Version {
		if _, err := o.Set(path, value, -1); err != nil {
			tb.Fatal(err)
		}
	}
}

// TestLossOfLongWindows: the same in a namespace that was declared with long windows.
func TestLossOfLongWindows(t *testing.T) {
	t.Parallel()
	server, ns := zktest.Start(t, zktest.Options{}), rand.Text()
	drivertest.LossOfLongWindows(t,
		func() drivertest.Operated { return newCoordinator(t, []string{server.Addr}, ns, nil) },
		func() func() { return keep(t, server) })
}
