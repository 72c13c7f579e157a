package kubernetes

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/drivertest"
)

// webhook is an API server behind something that changes what is written, or refuses it. Each request takes 20 ms.
type webhook struct {
	*fakeAPI
	edit   func(l *lease)
	refuse func(r *http.Request) string // empty: it does not
}

// RoundTrip implements [http.RoundTripper].
func (w *webhook) RoundTrip(r *http.Request) (*http.Response, error) {
	time.Sleep(20 * time.Millisecond)
	if w.refuse != nil {
		if why := w.refuse(r); why != "" {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.counts["refused"]++
			return w.replied(r, http.StatusForbidden, map[string]string{"kind": "Status", "reason": "Forbidden", "message": why})
		}
	}
	if w.edit != nil && r.Method == http.MethodPost {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		var l lease
		if err := json.Unmarshal(b, &l); err != nil {
			return nil, err
		}
		w.edit(&l)
		if b, err = json.Marshal(l); err != nil {
			return nil, err
		}
		r = r.Clone(r.Context())
		r.Body = io.NopCloser(bytes.NewReader(b))
	}
	return w.fakeAPI.RoundTrip(r)
}

// requests counts the requests so far.
func (f *fakeAPI) requests() (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for verb, count := range f.counts {
		if verb != "watch" {
			n += count
		}
	}
	return n
}

// behind is a coordinator of a process.
func (w *webhook) behind(t *testing.T) *Coordinator {
	t.Helper()
	c, err := New(&http.Client{Transport: w}, "http://h", "orders", Options{In: "shop", Clock: w.clock, Logger: slog.New(slog.DiscardHandler)})
	return drivertest.Closing(t, c, err)
}

// starts is a generator of a process.
func (w *webhook) starts(t *testing.T) *core.Generator {
	t.Helper()
	g, err := core.Start(w.behind(t), core.Config{Clock: w.clock, Logger: slog.New(slog.DiscardHandler)})
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

// TestMeddling: something is missing or is changed in an object, or nothing can be written. A generator that runs has
// IDs, or an error that names it, and so has one that starts then, and finds one Lease that is free soon. Nobody makes more than two requests a second for
// it, and all is well when it is.
func TestMeddling(t *testing.T) {
	unlabel := func(name string) func(*webhook) {
		return func(w *webhook) { l := w.leases[name]; l.Metadata.Labels = nil; w.leases[name] = l }
	}
	refuse := func(method, why string) func(*webhook) {
		return func(w *webhook) {
			w.refuse = func(r *http.Request) string {
				if r.Method == method || method == "" {
					return why
				}
				return ""
			}
		}
	}
	for name, tc := range map[string]struct {
		harm       func(w *webhook)
		old, fresh string // what the errors of the two say; empty: there are none
	}{
		"a label of a slot":           {unlabel(SlotName("orders", 0)), "", ""},
		"a label of the record":       {unlabel(SlotName("orders", -1)), "", ""},
		"a label of the marks":        {unlabel(MarksName("orders")), "", ""},
		"a mark":                      {func(w *webhook) { delete(w.leases[MarksName("orders")].Metadata.Annotations, annotationUsed+"0") }, "", ""},
		"a webhook strips labels":     {func(w *webhook) { w.edit = func(l *lease) { l.Metadata.Labels = nil } }, "", ""},
		"a webhook strips the record": {func(w *webhook) { w.edit = func(l *lease) { delete(l.Metadata.Annotations, annotation) } }, "", ""},
		"a quota":                     {refuse(http.MethodPost, "exceeded quota: objects"), "", ""},
		"no right to create":          {refuse(http.MethodPost, "cannot create resource"), "", ""},
		"no right to patch":           {refuse(http.MethodPatch, "cannot patch resource"), `add the verb "patch"`, `add the verb "patch"`},
		"no right to read":            {refuse(http.MethodGet, "cannot get resource, cannot list resource"), `add the verb "get"`, `add the verb "list"`},
		"the record is edited":        {func(w *webhook) { w.edited(SlotName("orders", -1)) }, "it was edited", "it was edited"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &webhook{fakeAPI: newFakeAPI()}
				first := w.behind(t) // so that worker ID 0 is held
				req := w.request(4)
				req.Workers = coord.Range{Count: 1}
				if _, err := first.Acquire(t.Context(), req); err != nil {
					t.Fatal(err)
				}
				old := w.starts(t)
				time.Sleep(10 * time.Second)
				w.mu.Lock()
				before := w.leases[SlotName("orders", -1)]
				tc.harm(w)
				w.mu.Unlock()
				fresh := w.starts(t)
				time.Sleep(time.Minute) // in which each pauses longer and longer
				counted := w.requests()
				time.Sleep(5 * time.Minute)
				if rate := float64(w.requests()-counted) / (5 * 60) / 2; rate > 2 {
					t.Errorf("a process makes %.1f requests a second: %v", rate, w.counts)
				}
				check := func(who, says string, g *core.Generator) {
					t.Helper()
					if _, err := g.TryNext(); says == "" && err != nil || says != "" && (err == nil || !strings.Contains(err.Error(), says)) {
						t.Errorf("%s: %v; want %q", who, err, says)
					}
				}
				check("the one that runs", tc.old, old)
				check("the one that has started", tc.fresh, fresh)
				w.mu.Lock()
				w.edit, w.refuse = nil, nil
				if tc.old != "" {
					w.leases[before.Metadata.Name] = before
				}
				w.mu.Unlock()
				time.Sleep(time.Minute)
				check("afterwards", "", old)
				check("afterwards", "", fresh)
			})
		})
	}
}

// TestQuota: no more Leases can be made. As many processes as there are get a worker ID, one after the other, and the
// next one's error names the quota.
func TestQuota(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = 12
		w := &webhook{fakeAPI: newFakeAPI()}
		w.refuse = func(r *http.Request) string {
			w.mu.Lock()
			defer w.mu.Unlock()
			if r.Method == http.MethodPost && len(w.leases) >= most+1+drivertest.Capacity/perMarks {
				return "exceeded quota: objects"
			}
			return ""
		}
		for range 2 { // the second time, all are free and made
			var held []coord.Grant
			c := w.behind(t)
			for range most {
				g, err := c.Acquire(t.Context(), w.request(64))
				if err != nil {
					t.Fatalf("after %d: %v", len(held), err)
				}
				held = append(held, g)
			}
			if g, err := w.behind(t).Acquire(t.Context(), w.request(64)); err == nil || !strings.Contains(err.Error(), "exceeded quota") || errors.Is(err, coord.ErrInvalid) {
				t.Errorf("one more: %v, %v", g, err)
			}
			for _, g := range held {
				if err := c.Release(t.Context(), g, g.NotBefore); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

// TestOldFormat: objects that another version has written are refused, not overlooked.
func TestOldFormat(t *testing.T) {
	for _, worker := range []int{-1, 3} {
		f := newFakeAPI()
		const old = `{"format":1,"uid":"u","stamp":"s","writes":2,"change":1,"record":{}}`
		name := SlotName("orders", worker)
		f.leases[name] = lease{Metadata: metadata{Name: name, UID: "u", Annotations: map[string]string{annotation: checksum(old) + " " + old}}}
		_, err := f.open(t).Acquire(t.Context(), f.request(4))
		drivertest.WantInvalid(t, "Acquire", err, name, "another version of unalike", "unalike move")
		if len(f.leases) != 1 {
			t.Errorf("%d objects", len(f.leases))
		}
	}
}
