package static

import (
	"context"
	"crypto/rand"
	"errors"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/filelock"
	"github.com/unalike-id/unalike/internal/filesys"
)

const layoutWithBits = "41/10/12/1ms/2024-01-01T00:00:00Z"

// left is what a process has left that has died: a grant of worker ID 7 with the window
// (0, 4000], and its state file.
func left(t *testing.T) (g coord.Grant, o Options) {
	t.Helper()
	o = Options{Namespace: rand.Text(), State: statePathOf(t), AcceptFresh: true}
	c := open(t, o)
	req := request("a", 1000)
	req.Fingerprint = layoutWithBits
	g = acquire(t, c, req)
	window(t, g, 0, 4000)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	forget(o.Namespace)
	return g, o
}

// resume resumes with the token b, and must succeed.
func resume(t *testing.T, c *Coordinator, g coord.Grant, until int64) coord.Grant {
	t.Helper()
	r, err := c.Resume(t.Context(), g, "b", until)
	if err != nil {
		t.Fatal(err)
	}
	if r.Token != "b" || r.Generation != g.Generation+1 || r.WorkerID != g.WorkerID {
		t.Fatalf("%v was resumed as %v, token %q", g, r, r.Token)
	}
	return r
}

// TestResumeAfterARestart: a process goes on in the window that the file of another one
// has, above the tick that the other may have stamped, and stores that.
func TestResumeAfterARestart(t *testing.T) {
	g, o := left(t)
	c := open(t, o)
	g.NotBefore = 2500
	r := resume(t, c, g, 6000)
	window(t, r, 2500, 6000)
	if s := stored(t, o.State); s.Token != "b" || s.Generation != g.Generation+1 || s.NotAfter != 6000 || s.Holder != "test" || s.Layout != layoutWithBits {
		t.Errorf("stored is %+v", s)
	}
	window(t, renew(t, c, r, 7000), 2500, 7000)
	// Nothing was stamped since: what the former holder can have stamped is not given back.
	if err := c.Release(t.Context(), r, 0); err != nil {
		t.Fatal(err)
	}
	if s := stored(t, o.State); s.NotAfter != 2500 || s.Token != "" {
		t.Errorf("stored after Release is %+v; want the end 2500", s)
	}
}

// TestResumeStoresTheTokenAlone: the file is written although the window ends where it did.
func TestResumeStoresTheTokenAlone(t *testing.T) {
	g, o := left(t)
	window(t, resume(t, open(t, o), g, 100), 0, 4000)
	if s := stored(t, o.State); s.Token != "b" || s.NotAfter != 4000 {
		t.Errorf("stored is %+v", s)
	}
	synctest.Test(t, func(t *testing.T) {
		c, g, path := held(t) // by the same process
		resume(t, c, g, 100)
		if s := stored(t, path); s.Token != "b" || s.NotAfter != g.NotAfter {
			t.Errorf("stored is %+v; the grant was %v", s, g)
		}
	})
}

// TestResumeStopsAtLastTick: the layout in the file says where it ends.
func TestResumeStopsAtLastTick(t *testing.T) {
	g, o := left(t)
	window(t, resume(t, open(t, o), g, 1<<42), 0, 1<<41-1)
}

// TestResumeRefused: what is not the caller's, or not any more.
func TestResumeRefused(t *testing.T) {
	change := func(what func(*record)) func(*testing.T, *coord.Grant, *Options) {
		return func(t *testing.T, _ *coord.Grant, o *Options) {
			t.Helper()
			r := stored(t, o.State)
			what(&r)
			if err := realStorage().save(o.State, r); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, tt := range map[string]struct {
		spoil func(*testing.T, *coord.Grant, *Options)
		kind  error
		text  string
	}{
		"no state file": {func(_ *testing.T, _ *coord.Grant, o *Options) { o.State = "" }, coord.ErrLeaseLost, "without a state file, this process knows nothing of it"},
		"file deleted": {func(t *testing.T, _ *coord.Grant, o *Options) {
			t.Helper()
			if err := os.Remove(o.State); err != nil {
				t.Fatal(err)
			}
		}, coord.ErrLeaseLost, "is not there"},
		"released":          {change(func(r *record) { r.Token = "" }), coord.ErrLeaseLost, "has generation 1, or was released"},
		"another token":     {change(func(r *record) { r.Token = "c" }), coord.ErrLeaseLost, "has generation 1"},
		"a later holder":    {change(func(r *record) { r.Generation++ }), coord.ErrLeaseLost, "has generation 2"},
		"another namespace": {change(func(r *record) { r.Namespace = "other" }), coord.ErrLeaseLost, `belongs to namespace "other", worker ID 7`},
		"another worker ID": {func(_ *testing.T, g *coord.Grant, _ *Options) { g.WorkerID = 8 }, coord.ErrLeaseLost, "this coordinator has the worker IDs 7"},
		"another layout": {func(t *testing.T, _ *coord.Grant, o *Options) {
			t.Helper()
			if err := (pair{o.Namespace, 7}).settle("40/10/13/1ms/2024-01-01T00:00:00Z"); err != nil {
				t.Fatal(err)
			}
		}, coord.ErrLayoutMismatch, layoutWithBits},
		"a layout without bits": {change(func(r *record) { r.Layout = "layout-a" }), coord.ErrInvalid, `layout "layout-a" does not say how many bits it has`},
		"beyond the layout":     {change(func(r *record) { r.NotAfter = 1 << 41 }), coord.ErrInvalid, "the layout ends at tick 2199023255551"},
		"an older file": {func(_ *testing.T, _ *coord.Grant, o *Options) {
			p := pair{o.Namespace, 7}
			_, _ = p.claim()
			p.remember(record{Generation: 2, NotAfter: 9000}, 1<<41-1)
			p.drop()
		}, coord.ErrLeaseLost, "this process has had generation 2 since"},
		"a file from before its release": {func(_ *testing.T, _ *coord.Grant, o *Options) {
			p := pair{o.Namespace, 7}
			_, _ = p.claim()
			p.remember(record{Generation: 1, NotAfter: 2000}, 1<<41-1)
			p.drop()
		}, coord.ErrLeaseLost, "this process has released it"},
	} {
		t.Run(name, func(t *testing.T) {
			g, o := left(t)
			path := o.State
			tt.spoil(t, &g, &o)
			c := open(t, o)
			_, err := c.Resume(t.Context(), g, "b", 6000)
			if !errors.Is(err, tt.kind) || !strings.Contains(err.Error(), tt.text) {
				t.Fatalf("error is %v; want %v with %q", err, tt.kind, tt.text)
			}
			if who, _, err := lockedBy(path + ".lock"); err != nil || who != "" {
				t.Errorf("the lock is held by %q afterwards, %v", who, err)
			}
		})
	}
}

// TestResumeOfALiveHolder: the lock shows that the former holder lives.
func TestResumeOfALiveHolder(t *testing.T) {
	g, o := left(t)
	l, err := filelock.Lock(o.State + ".lock")
	if err != nil {
		t.Fatal(err)
	}
	c := open(t, o)
	if r, err := c.Resume(t.Context(), g, "b", 6000); !errors.Is(err, coord.ErrNoWorkerID) {
		t.Fatalf("its lock is held, and %v was resumed as %v, %v", g, r, err)
	}
	l.Unlock()
	other := open(t, o)
	resume(t, c, g, 6000)
	if r, err := other.Resume(t.Context(), g, "c", 6000); !errors.Is(err, coord.ErrNoWorkerID) {
		t.Fatalf("another coordinator of this process has it, and %v was resumed as %v, %v", g, r, err)
	}
}

// TestResumeByAddress: the low bits of this machine's address may have become another
// machine's.
func TestResumeByAddress(t *testing.T) {
	g, o := left(t)
	address := "10.0.4.7"
	m := machine{addresses: func() ([]netip.Addr, error) { return []netip.Addr{netip.MustParseAddr(address)}, nil }}
	c, err := newCoordinator(source{ip: true, machine: m}, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	address = "10.0.4.8"
	if r, err := c.Resume(t.Context(), g, "b", 6000); !errors.Is(err, coord.ErrLeaseLost) || !strings.Contains(err.Error(), "address gives worker ID 8 now") {
		t.Fatalf("the address is %s, and %v was resumed as %v, %v", address, g, r, err)
	}
	address = "10.0.4.7"
	window(t, resume(t, c, g, 6000), 0, 6000)
}

// TestResumeWhoseWriteFails: whatever has got to the disk, the same Resume goes through
// later, by this process and by another one.
func TestResumeWhoseWriteFails(t *testing.T) {
	failed := error(syscall.EIO)
	for name, breaks := range map[string]func(*storage){
		"sync":   func(s *storage) { s.sync = func(*os.File) error { return failed } },
		"rename": func(s *storage) { s.rename = func(string, string) error { return failed } },
		"folder": func(s *storage) { s.syncDir = func(string) error { return failed } }, // it is replaced already
	} {
		t.Run(name, func(t *testing.T) {
			for _, by := range []string{"the same", "another one", "its holder"} {
				g, o := left(t)
				c := open(t, o)
				if by == "its holder" {
					req := request("d", 4500)
					req.Fingerprint = layoutWithBits
					g = acquire(t, c, req)
				}
				breaks(&c.storage)
				if r, err := c.Resume(t.Context(), g, "b", 6000); !errors.Is(err, failed) {
					t.Fatalf("resumed as %v, %v", r, err)
				}
				c.storage = realStorage()
				if by == "another one" {
					c = open(t, o)
				}
				r := resume(t, c, g, 5000)
				if r.NotBefore != g.NotBefore || r.NotAfter < max(g.NotAfter, 5000) {
					t.Errorf("%v was resumed by %s as %v", g, by, r)
				}
				if s := stored(t, o.State); s.Token != "b" || s.NotAfter != r.NotAfter {
					t.Errorf("%v was resumed by %s, and stored is %+v", g, by, s)
				}
			}
		})
	}
}

// TestResumeIsOnTheDisk: what a failed write or another process has left reads as wanted, and
// may still be lost with the power. A Resume that is repeated writes it again.
func TestResumeIsOnTheDisk(t *testing.T) {
	for _, by := range []string{"the same", "another one"} {
		g, o := left(t)
		c := open(t, o)
		c.storage.syncDir = func(string) error { return syscall.EIO }
		if r, err := c.Resume(t.Context(), g, "b", 6000); !errors.Is(err, syscall.EIO) {
			t.Fatalf("resumed as %v, %v", r, err)
		}
		if by == "another one" {
			c = open(t, o)
		}
		syncs := 0
		c.storage.syncDir = func(dir string) error { syncs++; return filesys.SyncDir(dir) }
		window(t, resume(t, c, g, 6000), 0, 6000)
		window(t, resume(t, c, g, 6000), 0, 6000) // it is held now, and is known to be there
		if syncs != 1 {
			t.Errorf("resumed by %s, the folder was synced %d times; want once", by, syncs)
		}
	}
}

// resumeUnheard resumes a grant on a disk that is slower than the caller waits.
func resumeUnheard(t *testing.T, c *Coordinator, g coord.Grant) {
	t.Helper()
	slow(c, 2*time.Second)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if r, err := c.Resume(ctx, g, "b", 6000); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("resumed as %v, %v", r, err)
	}
	time.Sleep(2 * time.Second)
	synctest.Wait()
}

// TestResumeByItsHolderWhoseFateIsUnknown: whatever is tried next, the worker ID is free for
// whoever comes, above what may have been stored.
func TestResumeByItsHolderWhoseFateIsUnknown(t *testing.T) {
	for name, unknown := range map[string]func(*testing.T, *Coordinator, coord.Grant){
		"the write fails": func(t *testing.T, c *Coordinator, g coord.Grant) {
			t.Helper()
			c.storage.syncDir = func(string) error { return syscall.EIO }
			if r, err := c.Resume(t.Context(), g, "b", 6000); !errors.Is(err, syscall.EIO) {
				t.Fatalf("resumed as %v, %v", r, err)
			}
		},
		"nobody hears": resumeUnheard,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, g, path := held(t)
				unknown(t, c, g)
				c.storage = realStorage()
				next := g
				next.Token, next.Generation = "b", g.Generation+1
				if r, err := c.Renew(t.Context(), next, 7000); !errors.Is(err, coord.ErrLeaseLost) {
					t.Errorf("renewed as %v, %v", r, err)
				}
				window(t, acquire(t, c, request("c", 1000)), 6000, 6000)
				if s := stored(t, path); s.Token != "c" || s.Generation != g.Generation+2 {
					t.Errorf("stored is %+v", s)
				}
			})
		})
	}
}

// TestResumeThatNobodyHears: the worker ID is let go, and the window is not trimmed.
func TestResumeThatNobodyHears(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, o := left(t)
		c := open(t, o)
		resumeUnheard(t, c, g)
		if s := stored(t, o.State); s.Token != "b" || s.NotAfter != 6000 {
			t.Errorf("stored is %+v", s)
		}
		if who, _, err := lockedBy(o.State + ".lock"); err != nil || who != "" {
			t.Errorf("the lock is held by %q, %v", who, err)
		}
		window(t, resume(t, open(t, o), g, 5000), 0, 6000)
	})
}

// TestRenewalOfAResumedGrantThatNobodyHeard: what was stored after the caller had gone is
// what the next one gets, as for a grant that was acquired, however slow the disk stays.
func TestRenewalOfAResumedGrantThatNobodyHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, o := left(t)
		c := open(t, o)
		g = resume(t, c, g, 4000)
		d := slow(c, 1100*time.Millisecond)
		if _, _, err := renewWithin(t, c, g, 5000); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("error is %v; want %v", err, context.DeadlineExceeded)
		}
		time.Sleep(500 * time.Millisecond)
		r, took, err := renewWithin(t, c, g, 5500)
		if err != nil || took != 0 {
			t.Fatalf("after %v: %v; want the result of the first renewal, at once", took, err)
		}
		window(t, r, 0, 5000)
		time.Sleep(2 * time.Second)
		if s := stored(t, o.State); s.NotAfter != 5500 || d.syncs.Load() != 2 {
			t.Errorf("%d syncs, stored is %+v; want 2, and 5500, which was asked for last", d.syncs.Load(), s)
		}
	})
}
