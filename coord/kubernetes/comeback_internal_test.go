package kubernetes

import (
	"io"
	"log/slog"
	"maps"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/core"
)

// TestComesBack: what is stored for a lone generator is deleted, edited or put back. It goes on by itself, with IDs
// above all before, within a time that does not depend on anybody.
func TestComesBack(t *testing.T) {
	meta := SlotName("orders", -1)
	for name, harm := range map[string]func(f *fakeAPI, slot string, old map[string]lease){
		"its slot is deleted":   func(f *fakeAPI, slot string, _ map[string]lease) { delete(f.leases, slot) },
		"the record is deleted": func(f *fakeAPI, _ string, _ map[string]lease) { delete(f.leases, meta) },
		"both are deleted":      func(f *fakeAPI, slot string, _ map[string]lease) { delete(f.leases, slot); delete(f.leases, meta) },
		"all is deleted":        func(f *fakeAPI, _ string, _ map[string]lease) { clear(f.leases) },
		"all slots are deleted": func(f *fakeAPI, _ string, _ map[string]lease) {
			maps.DeleteFunc(f.leases, func(name string, _ lease) bool { return name != meta })
		},
		"all goes back":        func(f *fakeAPI, _ string, old map[string]lease) { f.leases = maps.Clone(old) },
		"its slot goes back":   func(f *fakeAPI, slot string, old map[string]lease) { f.leases[slot] = old[slot] },
		"the record goes back": func(f *fakeAPI, _ string, old map[string]lease) { f.leases[meta] = old[meta] },
		"its slot is a copy":   func(f *fakeAPI, slot string, _ map[string]lease) { f.copied(slot) },
		"the record is a copy": func(f *fakeAPI, _ string, _ map[string]lease) { f.copied(meta) },
		"all are copies": func(f *fakeAPI, _ string, _ map[string]lease) {
			for name := range f.leases {
				f.copied(name)
			}
		},
		"its slot is edited": func(f *fakeAPI, slot string, _ map[string]lease) { f.edited(slot) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFakeAPI()
				c, err := New(&http.Client{Transport: f}, "http://h", "orders", Options{In: "shop", Clock: f.clock, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = c.Close() }()
				g, err := core.New(t.Context(), c, core.Config{Clock: f.clock, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = g.Close(t.Context()) }()
				last := core.ID(0)
				next := func() error {
					id, err := g.Next()
					if err == nil && id <= last {
						t.Fatalf("ID %d is not above %d", id, last)
					}
					last = max(last, id)
					return err
				}
				run := func(d time.Duration) {
					for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
						_ = next()
					}
				}
				run(10 * time.Second)
				f.mu.Lock()
				old := maps.Clone(f.leases)
				f.mu.Unlock()
				run(20 * time.Second)
				f.mu.Lock()
				harm(f, SlotName("orders", g.Health().Workers[0].WorkerID), old)
				f.mu.Unlock()
				harmed := time.Now()
				run(time.Minute)                       // in which its window may end
				if strings.HasSuffix(name, "edited") { // it is never overwritten; an operator has to delete it
					if err := next(); err == nil || !strings.Contains(err.Error(), "or delete it") {
						t.Errorf("with a slot that was edited: %v", err)
					}
					f.mu.Lock()
					delete(f.leases, SlotName("orders", g.Health().Workers[0].WorkerID))
					f.mu.Unlock()
					harmed = time.Now()
				}
				for next() != nil {
					if time.Since(harmed) > MaxHorizon+2*time.Minute {
						t.Fatalf("no ID %v after it: %v", time.Since(harmed), next())
					}
					time.Sleep(100 * time.Millisecond)
				}
				t.Logf("IDs again %v after it", time.Since(harmed))
				run(5 * time.Minute)
				if err := next(); err != nil {
					t.Errorf("and none later: %v", err)
				}
			})
		})
	}
}

// copied has an object deleted and applied again.
func (f *fakeAPI) copied(name string) {
	l := f.leases[name]
	l.Metadata.UID += "-again"
	f.leases[name] = l
}

// edited changes what an object says.
func (f *fakeAPI) edited(name string) {
	l := f.leases[name]
	l.Metadata.Annotations = maps.Clone(l.Metadata.Annotations)
	l.Metadata.Annotations[annotation] = strings.Replace(l.Metadata.Annotations[annotation], `"writes":`, `"writes":1`, 1)
	f.leases[name] = l
}
