package drivertest

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/clock/clocktest"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/testserver/certtest"
)

// Open opens a URL and closes what comes of it with the test.
func Open(tb testing.TB, url string) (coord.Coordinator, error) {
	tb.Helper()
	c, err := coord.Open(Within(tb), url, coord.OpenOptions{})
	if err != nil {
		return nil, err
	}
	return Closing(tb, c, nil), nil
}

// Opened checks that what a URL says holds, and that the clock that is given beside it is compared
// with the server's. The URL has options, and leads to an empty namespace. It returns the
// coordinator, which has granted something.
func Opened(t *testing.T, url string) coord.Coordinator {
	t.Helper()
	c, err := Open(t, url+"&ttl=20s&horizon=25s&renew=4s&skew=2s")
	if err != nil {
		t.Fatal(err)
	}
	want := coord.LeaseConfig{
		TTL: 20 * time.Second, Horizon: 25 * time.Second, RenewEvery: 4 * time.Second,
	}
	if l := coord.Describe(c).Rules.Set; l != want {
		t.Errorf("%s: the lease times are %+v; want %+v", url, l, want)
	}
	req := Request(1)
	req.TTL = want.TTL
	MustAcquire(t, c, req)
	wrong, err := coord.Open(Within(t), url,
		coord.OpenOptions{Clock: clocktest.NewShifted(time.Now().Add(time.Hour))})
	_, err = Closing(t, wrong, err).(coord.AdminCoordinator).Quarantine(Within(t), time.Time{})
	if !errors.Is(err, coord.ErrClockSkew) {
		t.Errorf("%s: Quarantine with a clock that is an hour ahead: %v", url, err)
	}
	return c
}

// Place checks that a URL leads to a place, that it has no password in it, and that each of the
// other URLs leads elsewhere. Nothing is there.
func Place(t *testing.T, base string, others ...string) {
	t.Helper()
	place := func(u string) string {
		t.Helper()
		c, err := coord.Open(Within(t), u, coord.OpenOptions{})
		p := coord.Describe(Closing(t, c, err)).Place
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

// BadURLs checks that each of the URLs is refused with an error that says what stands
// beside it, and names none of the passwords that such URLs have: secret, sec%ret and
// sec@ret.
func BadURLs(t *testing.T, says map[string]string) {
	t.Helper()
	for url, says := range says {
		_, err := Open(t, url)
		WantInvalid(t, url, err, says)
		for _, password := range []string{"secret", "sec%ret", "sec@ret"} {
			if err != nil && strings.Contains(err.Error(), password) {
				t.Errorf("%s: the error has the password: %v", url, err)
			}
		}
	}
}

// WantInvalid checks that err is for good and has all these parts.
func WantInvalid(tb testing.TB, what string, err error, says ...string) {
	tb.Helper()
	for _, part := range says {
		if !errors.Is(err, coord.ErrInvalid) || !strings.Contains(err.Error(), part) {
			tb.Errorf("%s: %v; want an error that says %q", what, err, part)
		}
	}
}

// BadFiles returns a file that holds no certificate, and a certificate that has expired.
func BadFiles(t *testing.T) (junk string, expired certtest.Pair) {
	t.Helper()
	junk = filepath.Join(t.TempDir(), "junk.pem")
	if err := os.WriteFile(junk, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	return junk, certtest.New(t).IssueFor(t, time.Now().Add(-48*time.Hour),
		time.Now().Add(-24*time.Hour))
}
