package driver_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/driver"
	_ "github.com/unalike-id/unalike/coord/file"
	_ "github.com/unalike-id/unalike/coord/static"
	_ "github.com/unalike-id/unalike/segment/file"
)

// TestCheck: URLs and lease times are judged as a generator and a store judge them, and no file is
// made.
func TestCheck(t *testing.T) {
	path := filepath.ToSlash(filepath.Join(t.TempDir(), "ids"))
	for _, tt := range []struct {
		url   string
		lease coord.LeaseConfig
		want  string // empty: no error
	}{
		{"file:" + path, coord.LeaseConfig{}, ""},
		{"file:" + path, coord.LeaseConfig{TTL: 4 * time.Second, Identity: "pod-a"}, ""},
		{"static://?worker=7", coord.LeaseConfig{Horizon: time.Hour}, ""},
		{"nothing://h", coord.LeaseConfig{}, `unknown scheme "nothing"; known are file, `},
		{"file:" + path + "?wrong=1", coord.LeaseConfig{}, `unknown option "wrong"`},
		{
			"file:" + path + "?ttl=1s",
			coord.LeaseConfig{},
			"TTL is 1s; this coordinator needs at least 3s",
		},
		{
			"file:" + path,
			coord.LeaseConfig{TTL: time.Second},
			"TTL is 1s; this coordinator needs at least 3s",
		},
		{
			"file:" + path + "?ttl=5s",
			coord.LeaseConfig{TTL: 4 * time.Second},
			"TTL is 4s in the configuration and 5s in the coordinator's URL or options",
		},
		{
			"file:" + path,
			coord.LeaseConfig{Horizon: time.Minute},
			"Horizon is 1m0s; at most 3s is allowed here",
		},
		{"file:" + path, coord.LeaseConfig{Identity: "a\nb"}, "unprintable character U+000A"},
	} {
		err := driver.Check(tt.url, tt.lease)
		wantError(t, tt.url, err, coord.ErrInvalid, tt.want)
	}
	for url, want := range map[string]string{
		"file:" + path:              "",
		"file:" + path + "?wrong=1": `unknown option "wrong"`,
		"nothing://h":               `unknown scheme "nothing" for a store of segments; known are file`,
	} {
		wantError(t, url, driver.CheckStore(url), coord.ErrInvalid, want)
	}
	if made, err := os.ReadDir(filepath.Dir(path)); err != nil || len(made) > 0 {
		t.Errorf("files were made: %v, %v", made, err)
	}
}

func wantError(t *testing.T, what string, err, kind error, want string) {
	t.Helper()
	if want == "" && err == nil {
		return
	}
	if want == "" || !errors.Is(err, kind) || !strings.Contains(err.Error(), want) {
		t.Errorf("%s: %v; want %q", what, err, want)
	}
}
