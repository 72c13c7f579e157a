// Package localtest has what the tests of all drivers ask of the state file in front of them.
package localtest

import (
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/drivertest"
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

// sep goes between a URL and one more option.
func sep(u string) string {
	if strings.Contains(u, "?") {
		return "&"
	}
	return "?"
}
