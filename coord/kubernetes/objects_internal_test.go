package kubernetes

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/drivertest"
)

// requests counts the requests so far.
func (f *fakeAPI) requests() (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, count := range f.counts {
		n += count
	}
	return n
}

// starts is a generator of a process of its own.
func (f *fakeAPI) starts(t *testing.T) *core.Generator {
	t.Helper()
	g, err := core.Start(f.open(t), core.Config{Clock: f.clock, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = g.Close(ctx)
	})
	return g
}

// TestMeddling: something is missing or is changed in an object, or nothing can be written. A
// generator that runs has IDs, or an error that names it, and so has one that starts then, and
// finds one Lease that is free soon. Nobody makes more than two requests a second for it, and all
// is well when it is.
func TestMeddling(t *testing.T) {
	record := SlotName("orders", -1)
	marks := record + ".used-0"
	refuse := func(method, why string) func(*fakeAPI) {
		return func(f *fakeAPI) {
			f.why, f.refuse = why, func(r *http.Request) int {
				if r.Method == method {
					return http.StatusForbidden
				}
				return 0
			}
		}
	}
	for name, tc := range map[string]struct {
		harm func(f *fakeAPI)
		says [2]string // by the one that runs, and the fresh one; empty: there is no error
	}{
		"labels": {harm: func(f *fakeAPI) {
			f.edit = func(l *lease, _ bool) { l.Metadata.Labels = nil }
			for name, l := range f.leases {
				l.Metadata.Labels = nil
				f.leases[name] = l
			}
		}},
		"a mark": {harm: func(f *fakeAPI) {
			delete(f.leases[marks].Metadata.Annotations, annotationUsed+"0")
		}},
		"a webhook strips new records": {harm: func(f *fakeAPI) {
			f.edit = func(l *lease, made bool) {
				if made {
					delete(l.Metadata.Annotations, annotation)
				}
			}
		}},
		"no right to create": {harm: refuse(http.MethodPost, "cannot create resource")},
		"no right to patch": {
			refuse(http.MethodPatch, "cannot patch resource"),
			[2]string{`add the verb "patch"`, `add the verb "patch"`},
		},
		"no right to read": {
			refuse(http.MethodGet, "cannot get resource, cannot list resource"),
			[2]string{`add the verb "get"`, `add the verb "list"`},
		},
		"the record is edited": {func(f *fakeAPI) {
			f.edited(record)
		}, [2]string{"it was edited", "it was edited"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFakeAPI()
				f.takes = 20 * time.Millisecond
				f.grantOf(t, f.open(t), 0, 1)
				all := [2]*core.Generator{f.starts(t)}
				time.Sleep(10 * time.Second)
				f.mu.Lock()
				before := f.leases[record]
				tc.harm(f)
				f.mu.Unlock()
				all[1] = f.starts(t)
				time.Sleep(time.Minute) // in which each pauses longer and longer
				counted := f.requests()
				time.Sleep(5 * time.Minute)
				if rate := float64(f.requests()-counted) / (5 * 60) / 2; rate > 2 {
					t.Errorf("a process makes %.2f requests a second: %v", rate, f.counts)
				}
				check := func(says [2]string) {
					t.Helper()
					for i, g := range all {
						if _, err := g.TryNext(); says[i] == "" && err != nil || says[i] != "" &&
							(err == nil || !strings.Contains(err.Error(), says[i])) {
							t.Errorf("generator %d: %v; want %q", i, err, says[i])
						}
					}
				}
				check(tc.says)
				f.mu.Lock()
				if f.edit, f.refuse = nil, nil; tc.says[0] != "" {
					f.leases[record] = before
				}
				f.mu.Unlock()
				time.Sleep(time.Minute)
				check([2]string{})
			})
		})
	}
}

// TestRenew_OneObjectRefused: if the API server refuses to patch one Lease, others of the same
// process are renewed.
func TestRenew_OneObjectRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeAPI()
		c := f.open(t)
		a, b := f.grantOf(t, c, 0, 2), f.grantOf(t, c, 1, 2)
		f.why = "denied by an admission webhook"
		f.refuse = func(r *http.Request) int {
			if r.Method == http.MethodPatch &&
				strings.HasSuffix(r.URL.Path, SlotName("orders", a.WorkerID)) {
				return http.StatusForbidden
			}
			return 0
		}
		for n := range int64(5) {
			if g, err := c.Renew(drivertest.Within(t), a, a.NotAfter+n); err == nil {
				t.Errorf("%v was renewed, whose Lease may not be patched", g)
			}
			if _, err := c.Renew(drivertest.Within(t), b, b.NotAfter+n); err != nil {
				t.Errorf("the renewal of another worker ID: %v", err)
			}
			time.Sleep(time.Second)
		}
	})
}

// TestStripped: a webhook removes what is written. The error names it.
func TestStripped(t *testing.T) {
	for _, name := range []string{annotation, annotationUsed + "0"} {
		f := newFakeAPI()
		f.edit = func(l *lease, _ bool) { delete(l.Metadata.Annotations, name) }
		g, err := f.open(t).Acquire(drivertest.Within(t), f.request(1))
		if err == nil || !strings.Contains(err.Error(), "must leave the annotation "+name) {
			t.Errorf("Acquire: %v, %v; want an error that names %s", g, err, name)
		}
	}
}

// TestBusy: an API server that has too much to do has done nothing. What it refuses is asked again
// when there is time.
func TestBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, busy := newFakeAPI(), 0
		f.refuse = func(*http.Request) int {
			if busy--; busy >= 0 {
				return http.StatusTooManyRequests
			}
			return 0
		}
		c := f.open(t)
		g := f.grantOf(t, c, 0, 1)
		busy = 5
		r, err := c.Renew(drivertest.Within(t), g, g.NotAfter+100)
		if err != nil || r.NotAfter != g.NotAfter+100 {
			t.Errorf("Renew with an API server that is busy: %v, %v", r, err)
		}
	})
}

// TestOldFormat: objects that another version has written are refused, not overlooked.
func TestOldFormat(t *testing.T) {
	f, name := newFakeAPI(), SlotName("orders", -1)
	const old = `{"format":1,"uid":"u","stamp":"s","writes":2,"change":1,"record":{}}`
	text := map[string]string{annotation: checksum(old) + " " + old}
	f.leases[name] = lease{Metadata: metadata{Name: name, UID: "u", Annotations: text}}
	_, err := f.open(t).Acquire(t.Context(), f.request(4))
	drivertest.WantInvalid(t, "Acquire", err, name, "another version of unalike", "unalike move")
	if len(f.leases) != 1 {
		t.Errorf("%d objects", len(f.leases))
	}
}

// TestPartOfAList: a part of a list would look like a loss.
func TestPartOfAList(t *testing.T) {
	l := leaseList{Kind: "LeaseList"}
	l.Metadata.Continue = "next"
	if err := l.check(request{}); err == nil {
		t.Error("a part of a list is taken for all of it")
	}
}

// TestOver: a lease's end is judged by the API server's clock and the bound.
func TestOver(t *testing.T) {
	s := &store{skew: 1_000_000}
	for _, tc := range [][2]int64{{10_000_000, 11_000_000}, {0, 1_000_000}} {
		if ends, now := tc[0], tc[1]; s.over(ends, now-1) || !s.over(ends, now) ||
			s.over(forever, forever) {
			t.Errorf("a lease that ends at %d is over with the bound, at %d", ends, now)
		}
	}
}
