package history

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/coord/static"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/protocol/memstore"
)

const childEnv = "UNALIKE_FAULTS_HISTORY_CHILD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childEnv); dir != "" {
		fmt.Println(child(dir))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// child leases a worker ID and renews until it is killed. After each call it prints how
// many there were.
func child(dir string) error {
	c, err := recordedStatic(dir, fmt.Sprint(os.Getpid()))
	if err != nil {
		return err
	}
	g, err := c.Acquire(context.Background(), drivertest.Request(1))
	for n := 1; err == nil; n++ {
		fmt.Println(n)
		g, err = c.Renew(context.Background(), g, g.NotAfter+1)
	}
	return err
}

func recordedStatic(dir, name string) (coord.Coordinator, error) {
	c, err := static.New(0, static.Options{State: filepath.Join(dir, "state"), AcceptFresh: true, Lease: coord.LeaseConfig{Horizon: 10 * time.Second}})
	if err != nil {
		return nil, err
	}
	return Record(c, filepath.Join(dir, "history-"+name))
}

func TestCallsSurviveAKill(t *testing.T) {
	dir := t.TempDir()
	total := 0
	for round := range 3 {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), childEnv+"="+dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		acknowledged := 0
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if _, err := fmt.Sscan(lines.Text(), &acknowledged); err != nil {
				t.Fatalf("the child says %q", lines.Text())
			}
			if acknowledged == 1+7*round {
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		_ = cmd.Wait() // it was killed
		total += acknowledged
		paths, err := filepath.Glob(filepath.Join(dir, "history-*"))
		if err != nil {
			t.Fatal(err)
		}
		got, err := Check(paths, limit)
		if err != nil || got.Calls < total || got.Illegal != nil || len(paths) != round+1 || acknowledged == 0 {
			t.Errorf("%d calls were acknowledged, %d files: %+v, %v", total, len(paths), got, err)
		}
	}
}

// record makes a recorded coordinator and returns its file as well.
func record(t *testing.T, c coord.Coordinator) (coord.Coordinator, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "history")
	r, err := Record(c, path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r, path
}

func TestOptionalInterfaces(t *testing.T) {
	alone, err := static.New(0, static.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]coord.Coordinator{
		"static": alone,
		"memory": memory(t, memstore.NewServer("a")),
		"fake":   coordtest.NewFake(coordtest.FakeConfig{Rules: coord.LeaseRules{MinTTL: 7}}).Client(),
	} {
		r, _ := record(t, c)
		_, wants := c.(coord.Admin)
		if _, changes := r.(coord.Admin); changes != wants {
			t.Errorf("%s: Admin %v; want %v", name, changes, wants)
		}
		if got, want := coord.Describe(r), coord.Describe(c); !reflect.DeepEqual(got, want) || reflect.DeepEqual(got.Rules, coord.LeaseRules{}) {
			t.Errorf("%s: %+v; want %+v", name, got, want)
		}
		g := drivertest.MustAcquire(t, r, drivertest.Request(1))
		_, notifies := c.(coord.Notifier)
		if lost := r.(coord.Notifier).Lost(g); (lost != nil) != notifies {
			t.Errorf("%s: a hint of a lost lease: %v; want %v", name, lost != nil, notifies)
		}
		slots, err := r.(interface {
			List(context.Context) ([]coord.Slot, error)
		}).List(t.Context())
		if l, ok := c.(coord.Admin); ok {
			want, wantErr := l.List(t.Context())
			if !reflect.DeepEqual(slots, want) || fmt.Sprint(err) != fmt.Sprint(wantErr) {
				t.Errorf("%s: %v, %v; want %v, %v", name, slots, err, want, wantErr)
			}
		} else if !errors.Is(err, coord.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
		if next, err := r.(coord.Resumer).Resume(t.Context(), g, "next", g.NotAfter+1); err != nil || next.Generation != g.Generation+1 {
			t.Errorf("%s: resumed to %v, %v", name, next, err)
		}
	}
	if len(alone.Describe().Warnings) == 0 {
		t.Error("there was no warning to forward")
	}
}

// bare has no optional interfaces.
type bare struct{ coord.Coordinator }

// placed is a coordinator that says where its namespace lives.
type placed struct{ coord.Coordinator }

func (placed) Describe() coord.Description { return coord.Description{Place: "here"} }

// TestPlace: a state file before a recorder belongs to the same namespace as one without.
func TestPlace(t *testing.T) {
	c := coordtest.NewFake(coordtest.FakeConfig{}).Client()
	for want, c := range map[string]coord.Coordinator{"here": placed{c}, "": bare{c}} {
		if r, _ := record(t, c); coord.Describe(r).Place != want {
			t.Errorf("the place is %q, want %q", coord.Describe(r).Place, want)
		}
	}
}

func TestCoordinatorWithoutOptionalInterfaces(t *testing.T) {
	r, path := record(t, bare{coordtest.NewFake(coordtest.FakeConfig{}).Client()})
	g := drivertest.MustAcquire(t, r, drivertest.Request(1))
	if _, err := r.(coord.Resumer).Resume(t.Context(), g, "next", g.NotAfter); !errors.Is(err, coord.ErrInvalid) {
		t.Errorf("resuming: %v", err)
	}
	if lost := r.(coord.Notifier).Lost(g); lost != nil {
		t.Error("there is a channel")
	}
	if d := coord.Describe(r); !reflect.DeepEqual(d, coord.Description{}) {
		t.Errorf("described as %+v", d)
	}
	if out, err := Check([]string{path}, limit); err != nil || out.Calls != 1 {
		t.Errorf("%+v, %v", out, err)
	}
}

func TestAdministration(t *testing.T) {
	server := memstore.NewServer("a")
	r, path := record(t, memory(t, server))
	a := r.(administrator)
	if err := a.Init(t.Context(), drivertest.Space()); err != nil {
		t.Fatal(err)
	}
	g := drivertest.MustAcquire(t, r, drivertest.Request(1))
	if err := a.Retire(t.Context(), g.WorkerID); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Renew(t.Context(), g, g.NotAfter+1); !errors.Is(err, coord.ErrLeaseLost) {
		t.Errorf("a retired worker ID: %v", err)
	}
	until := time.Now().Add(time.Minute).Truncate(time.Millisecond)
	if floor, err := a.Quarantine(t.Context(), until); err != nil || floor.Before(until) {
		t.Errorf("floor %v, %v", floor, err)
	}
	if _, err := a.Lower(t.Context()); err != nil {
		t.Error(err)
	}
	if ns, err := a.Inspect(t.Context()); err != nil || ns.Layout != drivertest.Layout {
		t.Errorf("%+v, %v", ns, err)
	}
	if out, err := Check([]string{path}, limit); err != nil || out.Illegal != nil || out.Calls != 3 {
		t.Errorf("%+v, %v", out, err)
	}
}

func TestCallsFailWhenTheyCannotBeRecorded(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skipf("skipped: %v", err)
	}
	fake := coordtest.NewFake(coordtest.FakeConfig{})
	r, _ := record(t, fake.Client())
	g := drivertest.MustAcquire(t, r, drivertest.Request(1))
	recorder := r.(*recorder)
	if err := recorder.file.Close(); err != nil {
		t.Fatal(err)
	}
	recorder.file = full
	for range 2 {
		if _, err := r.Renew(t.Context(), g, g.NotAfter+1); err == nil {
			t.Error("renewed without a record")
		}
	}
	if n := fake.Count(coordtest.Renew); n != 0 {
		t.Errorf("%d renewals reached the back end", n)
	}
}

func TestRecordKeepsFilesApart(t *testing.T) {
	fake := coordtest.NewFake(coordtest.FakeConfig{})
	r, path := record(t, fake.Client())
	drivertest.MustAcquire(t, r, drivertest.Request(1))
	if _, err := Record(fake.Client(), path); !errors.Is(err, os.ErrExist) {
		t.Errorf("another one in the same file: %v", err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if _, err := r.Acquire(t.Context(), drivertest.Request(1)); !errors.Is(err, coord.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	if out, err := Check([]string{path}, limit); err != nil || out.Calls != 1 {
		t.Errorf("%+v, %v", out, err)
	}
}
