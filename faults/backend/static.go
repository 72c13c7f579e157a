package backend

import (
	"net/url"
	"path/filepath"
	"testing"
)

// static has no server. Its folder has the state files, one for each namespace and
// worker ID.
type static struct{ common }

func startStatic(tb testing.TB) Backend {
	tb.Helper()
	return &static{common{name: "static", dirs: []string{tb.TempDir()}}}
}

// URL implements Backend. The option "worker" is 0 if it is not given; two generators at
// a time need different ones. The worker ID counts as never used if its state file is
// missing, unless the option "fresh" is "false".
func (b *static) URL(options ...string) string {
	s := newSettings(options)
	s.usual("worker", "0")
	s.usual("fresh", "true")
	file := url.PathEscape(s.values.Get("namespace")+"-"+s.values.Get("worker")) + ".state"
	s.usual("state", filepath.Join(b.dirs[0], file))
	return "static://" + s.query()
}

// Snapshot implements Backend. Nobody stands still for it: the state file is replaced
// as a whole.
func (b *static) Snapshot(tb testing.TB) string { tb.Helper(); return b.copyData(tb) }

// Restore implements Backend. It is for the time when no generator runs.
func (b *static) Restore(tb testing.TB, snapshot string) { tb.Helper(); b.replaceData(tb, snapshot) }
