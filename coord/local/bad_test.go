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

// TestBadFile: the first Acquire refuses a file of another program. It does not use one of another
// version, and leases a worker ID.
func TestBadFile(t *testing.T) {
	r := newRig(t)
	put := func(text string) *process {
		if err := os.WriteFile(r.file(), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return r.start()
	}
	if _, err := put("precious").ask(); !errors.Is(err, coord.ErrInvalid) ||
		!strings.Contains(err.Error(), "it is not a state file") {
		t.Errorf("a file of another program: %v", err)
	}
	later, err := statefile.Format{Name: "unalike-state", Version: 99}.Encode(1)
	if err != nil {
		t.Fatal(err)
	}
	p := put(string(later))
	if g := p.acquire(4); len(r.stored()) != 1 || r.stored()[0].Worker != g.WorkerID {
		t.Errorf("after another version, %v is leased, and the file has %+v", g, r.stored())
	}
}
