package kubernetes_test

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/kubernetes"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
)

// wantQuarantined checks that nothing was granted or extended because writes were lost.
func wantQuarantined(t *testing.T, what string, g coord.Grant, err error) {
	t.Helper()
	if !errors.Is(err, coord.ErrQuarantined) {
		if soon := drivertest.TickNow() + 30_000; err != nil || g.NotBefore < soon {
			t.Errorf("%s: %v, %v; want %v, or what lies above the floor", what, g, err, coord.ErrQuarantined)
		}
	}
}

// wantLost checks that a loss is on record.
func wantLost(t *testing.T, c coord.Admin) {
	t.Helper()
	if n, err := c.Inspect(drivertest.Within(t)); err != nil || n.Lost.IsZero() {
		t.Errorf("Inspect: %+v, %v; want a loss on record", n, err)
	}
}

// leases is the path of the objects of a test.
func (c *cluster) leases() string {
	return "/apis/coordination.k8s.io/v1/namespaces/" + c.in + "/leases"
}

// raw is an object as 'kubectl get -o json' shows it, without what the server adds.
func (c *cluster) raw(t *testing.T, name string) []byte {
	t.Helper()
	code, b := c.Do(http.MethodGet, c.leases()+"/"+name, "", nil)
	var o map[string]any
	if err := json.Unmarshal(b, &o); code != http.StatusOK || err != nil {
		t.Fatalf("GET %s: status %d, %v: %s", name, code, err, b)
	}
	meta := o["metadata"].(map[string]any)
	for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "managedFields"} {
		delete(meta, field)
	}
	out, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// marks stands for the object that has the marks.
const marks = -2

// destroy deletes objects of a namespace: -1 is its record.
func (c *cluster) destroy(t *testing.T, ns string, workers ...int) {
	t.Helper()
	for _, id := range workers {
		name := kubernetes.SlotName(ns, id)
		if id == marks {
			name = kubernetes.MarksName(ns)
		}
		kubernetes.Delete(t, c.client, c.URL, c.in, name)
	}
}

// TestDeleted: what 'kubectl delete' does is noticed by newcomers, and by a holder with its next
// renewal.
func TestDeleted(t *testing.T) {
	c := newCluster(t)
	for name, workers := range map[string][]int{
		"a slot that is held": {0},
		"a slot that is free": {3},
		"all slots":           {0, 3},
		"the record":          {-1},
		"the marks":           {marks},
		"all but the marks":   {-1, 0, 3},
		"everything":          {-1, 0, 3, marks},
	} {
		everything := len(workers) == 4
		t.Run(name, func(t *testing.T) {
			ns := rand.Text()
			holder := c.new(t, ns, kubernetes.Options{})
			first := drivertest.Request(4)
			first.Workers.Count = 1 // worker ID 0
			g := drivertest.MustAcquire(t, holder, first)
			other := c.new(t, ns, kubernetes.Options{})
			second := drivertest.Request(4)
			second.Workers = coord.Range{First: 3, Count: 1}
			if err := other.Release(drivertest.Within(t), drivertest.MustAcquire(t, other, second), 0); err != nil {
				t.Fatal(err)
			}
			c.destroy(t, ns, workers...)
			if everything { // a newcomer knows of nothing, and the holder does
				r, err := holder.Renew(drivertest.Within(t), g, g.NotAfter+1000)
				if err == nil && r.NotBefore < drivertest.TickNow()+30_000 {
					t.Errorf("Renew: %v", r)
				}
				_, _ = holder.Acquire(drivertest.Within(t), drivertest.Request(4))
			}
			newcomer := c.new(t, ns, kubernetes.Options{})
			r, err := newcomer.Acquire(drivertest.Within(t), drivertest.Request(4))
			wantQuarantined(t, "Acquire", r, err)
			wantLost(t, newcomer)
			if r, err := holder.Renew(drivertest.Within(t), g, g.NotAfter+1000); err == nil && r.NotBefore == g.NotBefore && r.NotAfter > g.NotAfter {
				t.Errorf("Renew of %v: %v", g, r)
			}
			if behind := kubernetes.Behind(t, c.client, c.URL, ns, c.in); behind != "" {
				t.Error(behind)
			}
		})
	}
}

// TestRenewsWithout: a holder that knows nothing, because it was started again, finds its slot
// gone, or its content in another object.
func TestRenewsWithout(t *testing.T) {
	c := newCluster(t)
	for name, back := range map[string]bool{"gone": false, "put back": true} {
		t.Run(name, func(t *testing.T) {
			ns := rand.Text()
			g := drivertest.MustAcquire(t, c.new(t, ns, kubernetes.Options{}), drivertest.Request(1))
			slot := c.raw(t, kubernetes.SlotName(ns, 0))
			c.destroy(t, ns, 0)
			if back {
				c.Apply(t, c.leases(), "application/json", slot)
			}
			g.Handle = nil
			again := c.new(t, ns, kubernetes.Options{})
			if r, err := again.Renew(drivertest.Within(t), g, g.NotAfter+1000); err == nil && r.NotBefore == g.NotBefore && r.NotAfter > g.NotAfter {
				t.Errorf("Renew of %v: %v", g, r)
			}
			wantLost(t, again)
		})
	}
}

// TestPutBack: an object that was deleted and applied again from 'kubectl get -o yaml' has
// another uid than its record says.
func TestPutBack(t *testing.T) {
	c := newCluster(t)
	for name, worker := range map[string]int{"a slot": 0, "another slot": 1, "the record": -1} {
		t.Run(name, func(t *testing.T) {
			ns := rand.Text()
			k := c.new(t, ns, kubernetes.Options{})
			g := drivertest.MustAcquire(t, k, drivertest.Request(2)) // both are held
			if h := drivertest.MustAcquire(t, k, drivertest.Request(2)); h.WorkerID == worker {
				g = h
			}
			object := c.raw(t, kubernetes.SlotName(ns, worker))
			c.destroy(t, ns, worker)
			c.Apply(t, c.leases(), "application/json", object)
			if worker == g.WorkerID {
				if r, err := k.Renew(drivertest.Within(t), g, g.NotAfter+1000); err == nil && r.NotBefore == g.NotBefore && r.NotAfter > g.NotAfter {
					t.Errorf("Renew of %v, whose slot is a copy: %v", g, r)
				}
				if text := kubernetes.Text(t, c.client, c.URL, c.in, kubernetes.SlotName(ns, worker)); strings.Contains(text, strconv.FormatInt(g.NotAfter+1000, 10)) {
					t.Errorf("the window of %v was written into a copy of its slot: %s", g, text)
				}
			}
			newcomer := c.new(t, ns, kubernetes.Options{})
			r, err := newcomer.Acquire(drivertest.Within(t), drivertest.Request(3))
			wantQuarantined(t, "Acquire", r, err)
			wantLost(t, newcomer)
			if behind := kubernetes.Behind(t, c.client, c.URL, ns, c.in); behind != "" {
				t.Error(behind)
			}
		})
	}
}

// TestUndone: a slot, or the record of the namespace, is put back to what it was, in the same
// object. A holder notices.
func TestUndone(t *testing.T) {
	c := newCluster(t)
	t.Run("a slot", func(t *testing.T) {
		ns := rand.Text()
		k, name := c.new(t, ns, kubernetes.Options{}), kubernetes.SlotName(ns, 0)
		g := drivertest.MustAcquire(t, k, drivertest.Request(1))
		old := kubernetes.Text(t, c.client, c.URL, c.in, name)
		known, err := k.Renew(drivertest.Within(t), g, g.NotAfter+9000)
		if err != nil {
			t.Fatal(err)
		}
		kubernetes.SetText(t, c.client, c.URL, c.in, name, old)
		// It comes to the version that the holder knows, and with its token.
		bare := g
		bare.Handle = nil
		if _, err := c.new(t, ns, kubernetes.Options{}).Renew(drivertest.Within(t), bare, g.NotAfter+1000); err != nil {
			t.Fatal(err)
		}
		r, err := k.Renew(drivertest.Within(t), known, known.NotAfter+1000)
		wantQuarantined(t, "Renew of what was undone", r, err)
		wantLost(t, k)
	})
	t.Run("the record", func(t *testing.T) {
		ns := rand.Text()
		k, name := c.new(t, ns, kubernetes.Options{}), kubernetes.SlotName(ns, -1)
		g := drivertest.MustAcquire(t, k, drivertest.Request(2))
		old := kubernetes.Text(t, c.client, c.URL, c.in, name)
		floor := floorIn(time.Minute)
		if _, err := k.Quarantine(drivertest.Within(t), floor); err != nil {
			t.Fatal(err)
		}
		if _, err := k.Renew(drivertest.Within(t), g, g.NotAfter+1); !errors.Is(err, coord.ErrQuarantined) {
			t.Fatal(err)
		}
		kubernetes.SetText(t, c.client, c.URL, c.in, name, old)
		// The slot has seen a write that the record has forgotten.
		tick := drivertest.Scale().Tick(floor.UnixMicro())
		g.Handle = nil
		again := c.new(t, ns, kubernetes.Options{})
		if r, err := again.Renew(drivertest.Within(t), g, tick+5000); err == nil && r.NotBefore < tick && r.NotAfter > g.NotAfter {
			t.Errorf("Renew below a floor that the slot knows: %v", r)
		}
		wantLost(t, again)
	})
}

// TestForgotten: whoever has seen what was undone notices, though nothing of it was its own, and the
// record of the namespace is as it was.
func TestForgotten(t *testing.T) {
	c := newCluster(t)
	ns := rand.Text()
	k, other := c.new(t, ns, kubernetes.Options{}), c.new(t, ns, kubernetes.Options{})
	drivertest.MustAcquire(t, k, drivertest.Request(8))
	restore := kubernetes.Backup(t, c.client, c.URL, ns, c.in)
	drivertest.MustAcquire(t, other, drivertest.Request(8))
	if _, err := k.List(drivertest.Within(t)); err != nil {
		t.Fatal(err)
	}
	restore()
	r, err := k.Acquire(drivertest.Within(t), drivertest.Request(8))
	wantQuarantined(t, "Acquire", r, err)
	wantLost(t, k)
}

// TestForgottenRecord: slots have seen a change that the record of the namespace has forgotten.
func TestForgottenRecord(t *testing.T) {
	c := newCluster(t)
	ns := rand.Text()
	k, name := c.new(t, ns, kubernetes.Options{}), kubernetes.SlotName(ns, -1)
	g := drivertest.MustAcquire(t, k, drivertest.Request(2))
	old := kubernetes.Text(t, c.client, c.URL, c.in, name)
	if _, err := k.Quarantine(drivertest.Within(t), floorIn(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Renew(drivertest.Within(t), g, g.NotAfter+1); !errors.Is(err, coord.ErrQuarantined) {
		t.Fatal(err)
	}
	kubernetes.SetText(t, c.client, c.URL, c.in, name, old)
	newcomer := c.new(t, ns, kubernetes.Options{})
	r, err := newcomer.Acquire(drivertest.Within(t), drivertest.Request(2))
	wantQuarantined(t, "Acquire", r, err)
	wantLost(t, newcomer)
	if behind := kubernetes.Behind(t, c.client, c.URL, ns, c.in); behind != "" {
		t.Error(behind)
	}
}

// TestRebuilt: a record that is gone is made from what its slots tell, closed if they say so.
func TestRebuilt(t *testing.T) {
	c := newCluster(t)
	ns := rand.Text()
	k := c.new(t, ns, kubernetes.Options{})
	drivertest.MustAcquire(t, k, drivertest.Request(2))
	if _, err := k.Quarantine(drivertest.Within(t), time.UnixMicro(drivertest.Scale().Micro(drivertest.LastTick))); err != nil {
		t.Fatal(err)
	}
	c.destroy(t, ns, -1)
	newcomer := c.new(t, ns, kubernetes.Options{})
	if _, err := newcomer.Inspect(drivertest.Within(t)); err != nil {
		t.Errorf("Inspect of a namespace without a record: %v", err)
	}
	if _, err := newcomer.List(drivertest.Within(t)); !errors.Is(err, coord.ErrInvalid) || !strings.Contains(err.Error(), "was deleted") {
		t.Errorf("List of a namespace without a record: %v", err)
	}
	if g, err := newcomer.Acquire(drivertest.Within(t), drivertest.Request(2)); !errors.Is(err, coord.ErrNamespaceClosed) {
		t.Errorf("Acquire in a namespace that was closed: %v, %v", g, err)
	}
}

// TestReopened: the record of a namespace that was closed is put back to what it was before. Its slots know better.
func TestReopened(t *testing.T) {
	c := newCluster(t)
	ns := rand.Text()
	k, name := c.new(t, ns, kubernetes.Options{}), kubernetes.SlotName(ns, -1)
	drivertest.MustAcquire(t, k, drivertest.Request(2))
	old := kubernetes.Text(t, c.client, c.URL, c.in, name)
	if _, err := k.Quarantine(drivertest.Within(t), time.UnixMicro(drivertest.Scale().Micro(drivertest.LastTick))); err != nil {
		t.Fatal(err)
	}
	kubernetes.SetText(t, c.client, c.URL, c.in, name, old)
	newcomer := c.new(t, ns, kubernetes.Options{})
	if g, err := newcomer.Acquire(drivertest.Within(t), drivertest.Request(2)); !errors.Is(err, coord.ErrNamespaceClosed) {
		t.Errorf("Acquire in a namespace that was closed: %v, %v", g, err)
	}
}

// TestEdited: what was edited is not granted and not overwritten, and its holder does not extend
// its window.
func TestEdited(t *testing.T) {
	c := newCluster(t)
	for name, edit := range map[string]func(string) string{
		"a number": func(s string) string { return strings.Replace(s, `"notAfter":`, `"notAfter":1`, 1) },
		"empty":    func(string) string { return "" },
		"cut off":  func(s string) string { return s[:len(s)/2] },
	} {
		t.Run(name, func(t *testing.T) {
			ns, worker := rand.Text(), 0
			k := c.new(t, ns, kubernetes.Options{})
			g := drivertest.MustAcquire(t, k, drivertest.Request(1))
			object := kubernetes.SlotName(ns, worker)
			edited := edit(kubernetes.Text(t, c.client, c.URL, c.in, object))
			kubernetes.SetText(t, c.client, c.URL, c.in, object, edited)
			_, err := k.Renew(drivertest.Within(t), g, g.NotAfter+1000)
			drivertest.WantInvalid(t, "Renew", err, object, "it is not overwritten")
			newcomer := c.new(t, ns, kubernetes.Options{})
			if h := drivertest.MustAcquire(t, newcomer, drivertest.Request(2)); h.WorkerID == worker {
				t.Errorf("granted is %v, whose slot was edited", h)
			}
			if _, err := newcomer.Quarantine(drivertest.Within(t), floorIn(0)); err != nil {
				t.Error(err)
			}
			if now := kubernetes.Text(t, c.client, c.URL, c.in, object); now != edited {
				t.Errorf("%q was overwritten: %q", edited, now)
			}
		})
	}
}

// TestRestored: the cluster's store is put back to an earlier state below the API server, which is
// started again then. Everything in Kubernetes is as it was: uids and resource versions come
// again.
func TestRestored(t *testing.T) {
	t.Parallel()
	c := ownCluster(t)
	ns, backup := rand.Text(), filepath.Join(t.TempDir(), "backup")
	k := c.new(t, ns, kubernetes.Options{})
	g := drivertest.MustAcquire(t, k, drivertest.Request(2))
	copied := func(from, to string) {
		t.Helper()
		c.Kill()
		c.Etcd.Stop()
		for _, args := range [][]string{{"rm", "-rf", to}, {"cp", "-a", from, to}} {
			if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
		}
		c.Etcd.Restart(t)
		c.Restart(t)
	}
	copied(c.Etcd.Dir, backup)
	var err error
	streamtest.Eventually(t, "the API server answers", func() bool {
		g, err = k.Renew(drivertest.Within(t), g, g.NotAfter+1000)
		return err == nil
	})
	copied(backup, c.Etcd.Dir)
	streamtest.Eventually(t, "the API server answers", func() bool {
		_, err := k.Inspect(drivertest.Within(t))
		return err == nil
	})
	r, err := k.Renew(drivertest.Within(t), g, g.NotAfter+1000)
	wantQuarantined(t, "Renew after a restore", r, err)
	wantLost(t, k)
}

// TestRetired: a worker ID that is retired before there is a slot for it is missed when its slot
// is lost.
func TestRetired(t *testing.T) {
	c := newCluster(t)
	const worker = 100
	for name, before := range map[string]bool{"it was made": false, "it is there and not marked": true} {
		t.Run(name, func(t *testing.T) {
			ns := rand.Text()
			k := c.new(t, ns, kubernetes.Options{})
			drivertest.MustAcquire(t, k, drivertest.Request(1))
			if before { // by somebody who has died before it was marked
				kubernetes.Begun(t, c.client, c.URL, ns, c.in, worker)
			}
			if err := k.Retire(drivertest.Within(t), worker); err != nil {
				t.Fatal(err)
			}
			c.destroy(t, ns, worker)
			r, err := c.new(t, ns, kubernetes.Options{}).Acquire(drivertest.Within(t), drivertest.Request(2))
			wantQuarantined(t, "Acquire", r, err)
		})
	}
}

// TestBegun: whoever has made a slot dies before it says whose content it has. The floor can be
// raised, and worker IDs are granted.
func TestBegun(t *testing.T) {
	c := newCluster(t)
	ns := rand.Text()
	k := c.new(t, ns, kubernetes.Options{})
	drivertest.MustAcquire(t, k, drivertest.Request(1))
	kubernetes.Begun(t, c.client, c.URL, ns, c.in, 100)
	floor := floorIn(0)
	if _, err := k.Quarantine(drivertest.Within(t), floor); err != nil {
		t.Fatalf("Quarantine with a slot that is half made: %v", err)
	}
	g := drivertest.MustAcquire(t, c.new(t, ns, kubernetes.Options{}), drivertest.Request(2))
	if tick := drivertest.Scale().Tick(floor.UnixMicro()); g.NotBefore < tick {
		t.Errorf("granted %v below the floor at %d", g, tick)
	}
	if behind := kubernetes.Behind(t, c.client, c.URL, ns, c.in); behind != "" {
		t.Error(behind)
	}
}
