package drivertest

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
