package backend

import (
	"net/url"
	"path/filepath"
	"testing"
)

// startFile has no server. Its folder has a file for each namespace.
func startFile(tb testing.TB) *Backend {
	tb.Helper()
	dir := tb.TempDir()
	return &Backend{url: func(o url.Values) string {
		return "file://" + filepath.Join(dir, o.Get("namespace")) + query(o)
	}}
}

// startStatic has no server. Its folder has the state files, one for each namespace and worker
// ID. The option "worker" is 0 if it is not given; two generators at a time need different ones.
func startStatic(tb testing.TB) *Backend {
	tb.Helper()
	dir := tb.TempDir()
	return &Backend{url: func(o url.Values) string {
		for name, usual := range map[string]string{"worker": "0", "fresh": "true"} {
			if !o.Has(name) {
				o.Set(name, usual)
			}
		}
		if !o.Has("state") {
			o.Set("state", filepath.Join(dir, o.Get("namespace")+"-"+o.Get("worker")))
		}
		return "static://" + query(o)
	}}
}

// startEmbedded is a folder with an etcd that runs in one of the programs that use it.
func startEmbedded(tb testing.TB) *Backend {
	tb.Helper()
	dir := filepath.Join(tb.TempDir(), "folder")
	return &Backend{url: func(o url.Values) string { return "embed://" + dir + query(o) }}
}
