package unalike_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unalike-id/unalike"
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
