package unalike_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// TestOpen: two generators on one file, which is named in both ways, make different IDs.
func TestOpen(t *testing.T) {
	t.Chdir(t.TempDir())
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	a, err := unalike.Open(t.Context(), "file:orders.ids", unalike.Config{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := unalike.Start(t.Context(), "file://"+filepath.ToSlash(dir)+"/orders.ids",
		unalike.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	seen := map[unalike.ID]bool{}
	for range 1000 {
		for _, g := range []*unalike.Generator{a, b} {
			id, err := g.Next()
			if err != nil || seen[id] {
				t.Fatalf("Next: %v, %v", id, err)
			}
			seen[id] = true
		}
	}
	for _, g := range []*unalike.Generator{a, b} {
		if err := g.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if _, err := g.Next(); !errors.Is(err, unalike.ErrClosed) {
			t.Errorf("Next after Close: %v", err)
		}
	}
}

// TestOpen_NewFile: the first program of a machine need not wait, and logs nothing that is worth a
// warning.
func TestOpen_NewFile(t *testing.T) {
	path := filepath.ToSlash(filepath.Join(t.TempDir(), "ids"))
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		layout := core.DefaultLayout()
		layout.Epoch = time.Date(1990, time.January, 1, 0, 0, 0, 0, time.UTC) // a bubble begins in 2000
		began := time.Now()
		ids, err := unalike.Open(t.Context(), "file:"+path, unalike.Config{
			Layout: layout, Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{
				Level: slog.LevelWarn,
			})),
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ids.Next(); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > 100*time.Millisecond {
			t.Errorf("the first ID came after %v", took)
		}
		if err := ids.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if log.Len() > 0 {
			t.Errorf("the log has %s", &log)
		}
	})
}

// TestOpen_Invalid: what is wrong is one kind of error, and nothing is left open.
func TestOpen_Invalid(t *testing.T) {
	file := "file:" + filepath.ToSlash(filepath.Join(t.TempDir(), "ids"))
	for _, tt := range []struct {
		url    string
		config unalike.Config
		says   string
	}{
		{"orders.ids", unalike.Config{}, "scheme://hosts/path"},
		{"file:", unalike.Config{}, "there is no path"},
		{"postgres://db/orders?namespace=orders", unalike.Config{}, "import"},
		{file, unalike.Config{Stripes: 2000}, "Stripes is 2000"},
	} {
		_, err := unalike.Open(t.Context(), tt.url, tt.config)
		if !errors.Is(err, unalike.ErrInvalid) || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("Open(%q): %v; want an ErrInvalid with %q", tt.url, err, tt.says)
		}
	}
}
