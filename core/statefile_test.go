package core_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/safetytest"
)

// described is a coordinator with a namespace that it can describe.
type described struct {
	*coordtest.FakeClient
	rules coord.LeaseRules
}

func (d described) Inspect(context.Context) (coord.Namespace, error) {
	return coord.Namespace{Layout: "some", Nonce: "some", MaxHorizon: time.Hour}, nil
}

func (d described) Describe() coord.Description { return coord.Description{Rules: d.rules} }

// withStateFile starts a generator with a state file.
func withStateFile(t *testing.T, f *coordtest.Fake, cfg core.Config) *core.Generator {
	t.Helper()
	cfg.Place = "here"
	rules := coord.LeaseRules{MaxHorizon: 2 * time.Minute, MaxDeclared: 6 * time.Hour}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	g, err := core.New(ctx, described{f.Client(), rules}, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestStateFile_RestartInAnOutage: while the coordinator is away, a generator that is closed and
// made again serves within 3 s, with the same worker IDs, and repeats no ID.
func TestStateFile_RestartInAnOutage(t *testing.T) {
	t.Parallel()
	f := coordtest.NewFake(coordtest.FakeConfig{Workers: 8})
	cfg := core.Config{
		StateFile: filepath.Join(t.TempDir(), "state"), Stripes: 3,
		Lease: coord.LeaseConfig{Horizon: time.Hour, RenewEvery: 200 * time.Millisecond},
	}
	seen := map[core.ID]bool{}
	take := func(g *core.Generator) {
		t.Helper()
		for range 1000 {
			id, err := g.Next()
			if err != nil {
				t.Fatal(err)
			}
			if seen[id] {
				safetytest.Of(t).Fatalf("ID %d is issued twice", id)
			}
			seen[id] = true
		}
	}
	workers := func(g *core.Generator) (ids []int) {
		for _, w := range g.Health().Workers {
			ids = append(ids, w.WorkerID)
			if !w.StateFile || w.WindowLeft < 50*time.Minute || w.MarkLeft <= 0 ||
				w.MarkLeft > 5*time.Second {
				t.Errorf("%+v", w)
			}
		}
		return ids
	}
	g := withStateFile(t, f, cfg)
	take(g)
	first := workers(g)
	f.Refuse(true)
	for _, i := range []int{0, 1, 2} { // then Close leaves the worker IDs in the files
		for g.Health().Workers[i].Failing == nil {
			take(g)
		}
	}
	if err := g.Close(t.Context()); err != nil {
		t.Errorf("Close: %v", err)
	}
	began := time.Now()
	g = withStateFile(t, f, cfg)
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("the start took %v", took)
	}
	take(g)
	if now := workers(g); !slices.Equal(now, first) {
		t.Errorf("the worker IDs are %v, and were %v", now, first)
	}
	f.Refuse(false)
	if err := g.Close(t.Context()); err != nil {
		t.Errorf("Close: %v", err)
	}
	for _, name := range []string{"", ".1", ".2"} {
		if _, err := os.Stat(cfg.StateFile + name); err != nil {
			t.Error(err)
		}
	}
}

// TestStateFile_Bad: a state file that cannot be used is an error of New that names the field.
func TestStateFile_Bad(t *testing.T) {
	dir := t.TempDir()
	client := func() *coordtest.FakeClient {
		return coordtest.NewFake(coordtest.FakeConfig{Workers: 1}).Client()
	}
	for name, c := range map[string]struct {
		c          coord.Coordinator
		path, want string
	}{
		"a relative path": {client(), "state", "StateFile: "},
		"no directory":    {client(), filepath.Join(dir, "no", "state"), "StateFile: "},
		"a directory":     {client(), dir, "StateFile: "},
		"a coordinator without Resume": {
			struct{ coord.Coordinator }{client()}, filepath.Join(dir, "state"), "StateFile is ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := core.New(t.Context(), c.c, core.Config{StateFile: c.path})
			if !errors.Is(err, core.ErrInvalidConfig) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("New: %v, want ErrInvalidConfig with %q", err, c.want)
			}
		})
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 0 {
		t.Errorf("New left %v, %v", files, err)
	}
}

// TestStateFile_WithoutPlace: a generator warns that its file does not serve without the
// coordinator.
func TestStateFile_WithoutPlace(t *testing.T) {
	f := coordtest.NewFake(coordtest.FakeConfig{Workers: 1})
	g, err := core.New(t.Context(), described{FakeClient: f.Client()}, core.Config{
		StateFile: filepath.Join(t.TempDir(), "state"),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close(context.Background())
	if w := g.Health().Warnings; len(w) != 1 || !strings.Contains(w[0], "Config.Place") {
		t.Errorf("the warnings are %q", w)
	}
}
