// Package localtest has what the tests of all drivers ask of the state file in front of them.
package localtest

import (
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
)

// Place checks that a URL leads to a place, that it has no password in it, and that each of
// the other URLs leads elsewhere.
func Place(t *testing.T, base string, others ...string) {
	t.Helper()
	place := func(u string) string {
		t.Helper()
		c, err := drivertest.Open(t, u+sep(u)+"state="+url.QueryEscape(filepath.Join(t.TempDir(), "state")))
		if err != nil {
			t.Fatal(err)
		}
		p := coord.Describe(c).Place
		if p == "" || strings.Contains(p, "secret") {
			t.Errorf("the place of %s is %q", u, p)
		}
		return p
	}
	first := place(base)
	if again := place(base); again != first {
		t.Errorf("the place of %s is %q, and %q the next time", base, first, again)
	}
	for _, u := range others {
		if other := place(u); other == first {
			t.Errorf("%s and %s have the same place, %q", base, u, first)
		}
	}
}

// named is a record that has the nonce of its namespace.
var named = regexp.MustCompile(`"nonce":"[^"]`)

// Outlives checks that a process that was killed goes on while the back end of a URL is away,
// soon, and has its worker ID when it is back. Begin takes the back end away, and over brings
// it back.
func Outlives(t *testing.T, base string, begin, over func()) {
	t.Helper()
	OutlivesWith(t, func(file string) (coord.Coordinator, error) {
		return coord.Open(drivertest.Within(t), base+sep(base)+"state="+url.QueryEscape(file), coord.OpenOptions{})
	}, begin, over)
}

// OutlivesWith is Outlives for a coordinator that is opened with a file.
func OutlivesWith(t *testing.T, open func(file string) (coord.Coordinator, error), begin, over func()) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "state")
	start := func() coord.Coordinator {
		t.Helper()
		c, err := open(file)
		if err != nil {
			t.Fatal(err)
		}
		return drivertest.Closing(t, c, nil)
	}
	renew := func(c coord.Coordinator, g coord.Grant, req coord.Request) coord.Grant {
		t.Helper()
		r, err := c.Renew(drivertest.Within(t), g, drivertest.TickNow()+req.Until-req.Now)
		if err != nil {
			t.Fatalf("Renew of %v: %v", g, err)
		}
		return r
	}
	first, req := start(), drivertest.Request(4)
	req.Until = req.Now + (30 * time.Second).Milliseconds()
	g := drivertest.MustAcquire(t, first, req)
	if b, err := os.ReadFile(file); err != nil || !named.Match(b) {
		t.Errorf("the first record does not say which namespace it is of, %v", err)
	}
	_ = first.Close()
	begin()
	second, again := start(), drivertest.Request(4)
	again.Until = again.Now + (30 * time.Second).Milliseconds()
	began := time.Now()
	h := drivertest.MustAcquire(t, second, again)
	t.Logf("going on without the back end after %v", time.Since(began))
	if h.WorkerID != g.WorkerID || h.NotBefore < g.NotAfter {
		t.Fatalf("%v follows %v", h, g)
	}
	over()
	streamtest.Eventually(t, "the back end renews", func() bool {
		h = renew(second, h, again)
		o, ok := second.(coord.Outlasting).Outage(h)
		return ok && o.Failing == nil && !o.Renewed.IsZero()
	})
	if err := second.Release(drivertest.Within(t), h, h.NotBefore); err != nil {
		t.Fatal(err)
	}
	next := drivertest.MustAcquire(t, second, drivertest.Request(4))
	if next.WorkerID == h.WorkerID && next.Generation <= h.Generation {
		t.Errorf("%v follows %v", next, h)
	}
}

// sep goes between a URL and one more option.
func sep(u string) string {
	if strings.Contains(u, "?") {
		return "&"
	}
	return "?"
}
