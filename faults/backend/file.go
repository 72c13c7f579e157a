package backend

import (
	"path/filepath"
	"testing"
)

// file has no server. Its folder has a file for each namespace.
type file struct{ common }

func startFile(tb testing.TB) Backend {
	tb.Helper()
	return &file{common{name: "file", dirs: []string{tb.TempDir()}}}
}

// URL implements Backend.
func (b *file) URL(options ...string) string {
	s := newSettings(options)
	return "file://" + filepath.ToSlash(filepath.Join(b.dirs[0], s.values.Get("namespace"))) + s.query()
}

// Snapshot implements Backend. Nobody stands still for it: a file is replaced as a whole.
func (b *file) Snapshot(tb testing.TB) string { tb.Helper(); return b.copyData(tb) }

// Restore implements Backend. It is for the time when no generator runs.
func (b *file) Restore(tb testing.TB, snapshot string) { tb.Helper(); b.replaceData(tb, snapshot) }
