package embedded

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/driver"
)

// TestParse: the folder that a URL names on each system, and lease times.
func TestParse(t *testing.T) {
	for _, tt := range []struct {
		url, goos, dir, namespace string
	}{
		{"embed:///var/lib/ids", "linux", "/var/lib/ids", DefaultNamespace},
		{"embed:///var/lib/my%20ids%3F?namespace=orders", "darwin", "/var/lib/my ids?", "orders"},
		{"embed:///C:/data/ids?namespace=orders", "windows", filepath.FromSlash("C:/data/ids"), "orders"},
		{"EMBED:///x", "linux", "/x", DefaultNamespace},
	} {
		u, err := driver.ParseURL(tt.url)
		if err != nil {
			t.Fatal(err)
		}
		got, err := parse(u, tt.goos)
		if err != nil || got.dir != tt.dir || got.namespace != tt.namespace {
			t.Errorf("%s: %+v, %v", tt.url, got, err)
		}
	}
	u, err := driver.ParseURL("embed:///x?ttl=4s&horizon=8s&renew=1s")
	if err != nil {
		t.Fatal(err)
	}
	got, err := parse(u, "linux")
	if want := (coord.LeaseConfig{
		TTL: 4 * time.Second, Horizon: 8 * time.Second,
		RenewEvery: time.Second,
	}); err != nil || got.options.Lease != want {
		t.Errorf("lease %+v, %v; want %+v", got.options.Lease, err, want)
	}
}

// TestURLErrors: errors name what is wrong, and no password.
func TestURLErrors(t *testing.T) {
	for _, tt := range []struct{ url, goos, want string }{
		{"embed://", "linux", "there is no folder; write embed:///folder, with the absolute path " +
			"of the folder"},
		{"embed:///", "linux", "there is no folder"},
		{
			"embed://var/lib/ids", "linux",
			`there is a host, "var"; a folder is on this machine, write embed:///folder with three slashes`,
		},
		{
			"embed://me:secret@host/ids", "linux",
			"there is a user or password; write embed:///folder without one",
		},
		{"embed:///ids?namespace=", "linux", "namespace is empty"},
		{"embed:///ids?namespace=a/b", "linux", `namespace "a/b" contains`},
		{
			"embed:///ids?skew=1s", "linux",
			`unknown option "skew"; known are horizon, namespace, renew, ttl`,
		},
		{"embed:///ids?ttl=soon", "linux", `option ttl is "soon"; it is a positive duration`},
		{"embed:///data/ids", "windows", `the folder "/data/ids" has no drive; write embed:///C:/folder`},
		{"embed:///C:", "windows", "has no drive"},
	} {
		u, err := driver.ParseURL(tt.url)
		if err != nil {
			t.Fatal(err)
		}
		_, err = parse(u, tt.goos)
		if err == nil || !strings.Contains(err.Error(), tt.want) ||
			strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v; want %q in it", tt.url, err, tt.want)
		}
	}
	for _, url := range []string{
		"embed://host/ids", "embed:///ids?ttl=1500ms",
		"embed:///ids?horizon=25h",
	} {
		c, err := coord.Open(t.Context(), url, coord.OpenOptions{})
		if c != nil || !errors.Is(err, coord.ErrInvalid) {
			t.Errorf("%s: %v, %v", url, c, err)
		}
	}
}
