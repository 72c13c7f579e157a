package local

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/coord/driver"
)

// TestBadOptions: what New and a URL refuse.
func TestBadOptions(t *testing.T) {
	r := newRig(t)
	inner := &link{Coordinator: memory(t, r.server), r: r}
	for says, call := range map[string]func() (*Coordinator, error){
		"the name of the state file is empty": func() (*Coordinator, error) { return New(inner, "", Options{}) },
		"Window is 1ms; 300ms to 1m0s":        func() (*Coordinator, error) { return New(inner, "f", Options{Window: time.Millisecond}) },
		"Window is 1h0m0s; 300ms to 1m0s":     func() (*Coordinator, error) { return New(inner, "f", Options{Window: time.Hour}) },
		"has no state file: its grants cannot": func() (*Coordinator, error) {
			return New(coordtest.NewFake(coordtest.FakeConfig{}).Client(), "f", Options{})
		},
		"has no state file: its grants cannot ": func() (*Coordinator, error) { return New(nil, "f", Options{}) },
	} {
		if c, err := call(); c != nil || !errors.Is(err, coord.ErrInvalid) || !strings.Contains(err.Error(), says) {
			t.Errorf("%v; want %q", err, says)
		}
	}
	open := Opener(func(context.Context, *driver.URL) (coord.Coordinator, error) { return inner, nil })
	u, err := driver.ParseURL("memory://h?state=")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := open(t.Context(), u); !errors.Is(err, coord.ErrInvalid) || !strings.Contains(err.Error(), "option state is empty; name a file, or leave the option out") {
		t.Errorf("an empty option: %v", err)
	}
	if u, err = driver.ParseURL("memory://h?state=/a"); err != nil {
		t.Fatal(err)
	}
	u.State = "/b"
	if _, err := open(t.Context(), u); !errors.Is(err, coord.ErrInvalid) || !strings.Contains(err.Error(), `option state is "/a", and State is "/b"; name the file in one place, or the same in both`) {
		t.Errorf("two state files: %v", err)
	}
}

// TestBadPath: files that cannot be, found out by the first Acquire.
func TestBadPath(t *testing.T) {
	r := newRig(t)
	plain := filepath.Join(r.dir, "plain")
	if err := os.WriteFile(plain, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, says := range map[string]string{
		filepath.Join(r.dir, "none", "state"): "its folder does not exist; create it",
		filepath.Join(plain, "state"):         "its folder does not exist; create it",
		r.dir:                                 "is not a regular file but d",
	} {
		c, err := New(&link{Coordinator: memory(t, r.server), r: r}, path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Acquire(r.ctx(), r.request(4))
		if !errors.Is(err, coord.ErrInvalid) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v; want %q", path, err, says)
		}
		_ = c.Close()
	}
}

// TestDeletedWhileInUse: then nothing more is granted from the file, and another worker ID is
// leased without it.
func TestDeletedWhileInUse(t *testing.T) {
	r := newRig(t)
	p := r.start()
	g := p.acquire(4)
	p.known()
	g = p.renew(g)
	if err := os.Remove(r.file()); err != nil {
		t.Fatal(err)
	}
	if err := p.untilLost(g); !strings.Contains(err.Error(), "was deleted, replaced or linked while it was in use") {
		t.Errorf("the error is %v", err)
	}
	if h := p.acquire(4); h.WorkerID == g.WorkerID {
		t.Errorf("%v follows %v", h, g)
	}
}
