package local

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/coord/driver"
	"github.com/unalike-id/unalike/internal/statefile"
)

// TestBadOptions: what New and a URL refuse.
func TestBadOptions(t *testing.T) {
	r := newRig(t)
	remote := &link{Coordinator: memoryCoordinator(t, r.server)}
	open := func(url, state string) (coord.Coordinator, error) {
		u, err := driver.ParseURL(url)
		if err != nil {
			t.Fatal(err)
		}
		u.State = state
		return Opener(func(context.Context, *driver.URL) (coord.Coordinator, error) {
			return remote, nil
		})(t.Context(), u)
	}
	made := func(c coord.Coordinator, file string, window time.Duration) error {
		_, err := New(c, file, Options{Window: window})
		return err
	}
	without := coordtest.NewFake(coordtest.FakeConfig{}).Client()
	_, empty := open("memory://h?state=", "")
	_, two := open("memory://h?state=/a", "/b")
	for says, err := range map[string]error{
		"the name of the state file is empty": made(remote, "", 0),
		"Window is 1ms; 300ms to 1m0s": made(remote, "f",
			time.Millisecond),
		"Window is 1h0m0s; 300ms to 1m0s": made(remote, "f",
			time.Hour),
		"has no state file: its grants cannot":                                made(without, "f", 0),
		"has no state file: its grants cannot ":                               made(nil, "f", 0),
		"option state is empty; name a file, or leave the option out":         empty,
		`is "/a", and State is "/b"; name the file in one place, or the same`: two,
	} {
		if !errors.Is(err, coord.ErrInvalid) || !strings.Contains(err.Error(), says) {
			t.Errorf("%v; want %q", err, says)
		}
	}
	p := r.start()
	for _, cfg := range []coord.LeaseConfig{
		{TTL: time.Second},
		{Horizon: 2 * time.Second},
		{RenewEvery: 4 * time.Second},
	} {
		// shorter than the window
		if _, err := p.Describe().Rules.Resolve(cfg); err != nil {
			t.Errorf("%+v: %v", cfg, err)
		}
	}
}

// TestBadFile: files that cannot be used are found out by the first Acquire, which does not ask
// again. What is not a state file, or one of another version, is not written over.
func TestBadFile(t *testing.T) {
	later, _ := statefile.Format{Name: format.Name, Version: 3}.Encode(1)
	content := func(text string) func(*rig) error {
		return func(r *rig) error { return os.WriteFile(r.file(), []byte(text), 0o600) }
	}
	const foreign = "it is not a state file, or damaged; name another file, or delete it if it is " +
		"one of this program"
	for _, test := range []struct {
		says  string
		spoil func(*rig) error
	}{
		{"its folder does not exist; create it", func(r *rig) error { return os.Remove(r.dir) }},
		{"is not a regular file but d", func(r *rig) error { return os.Mkdir(r.file(), 0o700) }},
		{"is on a network file system, NFS, where a lock may keep nobody out; name a file on a disk of " +
			"this machine", func(r *rig) error {
			r.sys = func(s *system) { s.network = func(*os.File) (string, error) { return "NFS", nil } }
			return nil
		}},
		{foreign, content(strings.Repeat("precious\n", 1000))},
		{foreign, content(strings.Repeat("precious", recordSize/4))},
		{"it is of another version", content(string(later))},
		{"it is of another version", content(v1)},
	} {
		r := newRig(t)
		if err := test.spoil(r); err != nil {
			t.Fatal(err)
		}
		before, _ := os.ReadFile(r.file())
		_, err := r.start().ask()
		if now, _ := os.ReadFile(r.file()); !errors.Is(err, coord.ErrInvalid) ||
			!strings.Contains(err.Error(), test.says) || string(now) != string(before) {
			t.Errorf("%v; want %q", err, test.says)
		}
	}
}

// v1 is a record as the first version of the format had it.
const v1 = "unalike-state v1 14 " +
	"603ff4b70ceeeda2a87631465b1a7089df62b5d48e4426d1bbe9bd2c219f0bfd\n{\"sequence\":1}\n\n"

// TestInUse: a second process waits, and is told for whom. Nobody but this user may read the file.
func TestInUse(t *testing.T) {
	r := newRig(t)
	r.start().acquire(4)
	_, err := r.start().ask()
	if err == nil || coord.Permanent(err) ||
		!strings.Contains(err.Error(), "it is in use by this process, ") ||
		!strings.Contains(err.Error(), "it is waited for: give each generator a file of its own") {
		t.Errorf("a second process: %v", err)
	}
	// On a disk that gets full later, the file has its room already.
	info, err := os.Stat(r.file())
	if err != nil || info.Mode().Perm()&0o077 != 0 || info.Size() != 2*recordSize {
		t.Errorf("%v, %v", info, err)
	}
}
