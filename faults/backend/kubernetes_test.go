package backend_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/faults/backend"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
)

// What was deleted, edited, or put back is what kubectl would show then.
func TestObjects(t *testing.T) {
	each(t, func(t *testing.T, b backend.Backend, o backend.Objects) {
		c := open(t, b)
		g := drivertest.MustAcquire(t, c, drivertest.Request(1))
		name := o.Object(g.WorkerID)
		has := func() bool { return slices.Contains(o.All(t), name) }
		if all := o.All(t); !has() || !slices.Contains(all, o.Object(-1)) {
			t.Fatalf("after %v was granted there are the objects %v", g, all)
		}
		before := o.Edit(t, name, func(text string) string { return text + "!" })
		_, err := c.Renew(streamtest.Within(t), g, g.NotAfter+1)
		drivertest.WantInvalid(t, "Renew", err, name)
		o.Edit(t, name, func(string) string { return before })
		if _, err := c.Renew(streamtest.Within(t), g, g.NotAfter+1); err != nil {
			t.Errorf("Renew when an edit was undone: %v", err)
		}
		backup := o.Backup(t, name)
		o.Delete(t, name)
		if has() {
			t.Errorf("%s was deleted, and is there", name)
		}
		o.Apply(t, backup)
		if !has() || strings.Contains(string(backup[0]), "resourceVersion") {
			t.Errorf("%s was applied, and is there: %v; it was %s", name, has(), backup[0])
		}
		o.Anew(t)
		if all := o.All(t); len(all) > 0 {
			t.Errorf("after the Kubernetes namespace was deleted there are %v", all)
		}
		serves(t, b)
	}, "kubernetes")
}

// Each of the two servers is needed, and what is restored below the front is served by it.
func TestLayered(t *testing.T) {
	each(t, func(t *testing.T, b backend.Backend, l backend.Layered) {
		o := b.(backend.Objects)
		name := o.Object(acquire(t, b).WorkerID)
		same := func(text string) string { return text }
		stored := o.Edit(t, name, same)
		snapshot := b.Snapshot(t)
		o.Edit(t, name, func(text string) string { return text + "!" })
		l.Store().Freeze(t)
		silent(t, b)
		l.Store().Thaw(t)
		l.Front().Kill()
		silent(t, b)
		l.Front().Restart(t)
		l.Between().LoseReplies()
		silent(t, b)
		l.Between().Heal()
		l.RestoreBelow(t, snapshot)
		if now := o.Edit(t, name, same); now != stored {
			t.Errorf("what is stored after a rollback is %q; it was %q", now, stored)
		}
	}, "kubernetes")
}
