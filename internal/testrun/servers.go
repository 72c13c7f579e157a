package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// serversEnv has a hash of which servers are installed, and which versions. Whatever looks for a
// server reads it (proctest.Need), so that go test runs tests again that were skipped for want of
// one, or ran another version.
const serversEnv = "UNALIKE_SERVERS"

// programs are what tests start: commands, or patterns of paths.
var programs = []string{
	"redis-server", "redis-sentinel", "redis-cli", "java", "/usr/share/java/zookeeper*.jar",
	"initdb", "postgres", "/usr/lib/postgresql/*/bin/postgres", "pgbouncer", "/usr/sbin/pgbouncer",
	"mariadbd", "/usr/sbin/mariadbd", "mariadb", "prometheus", "promtool", "curl", "gcc", "make",
}

// servers returns a hash of where these programs are, how long and from when.
func servers() string {
	h := sha256.New()
	look := func(path string) {
		path, err := filepath.EvalSymlinks(path)
		if err != nil {
			return
		}
		if info, err := os.Stat(path); err == nil {
			_, _ = fmt.Fprintln(h, path, info.Size(), info.ModTime().UnixNano())
		}
	}
	for _, p := range programs {
		if filepath.IsAbs(p) {
			found, _ := filepath.Glob(p) // the patterns are well-formed
			for _, path := range found {
				look(path)
			}
		} else if path, err := exec.LookPath(p); err == nil {
			look(path)
		}
	}
	if cache, err := os.UserCacheDir(); err == nil {
		found, _ := filepath.Glob(filepath.Join(cache, "unalike", "kube-apiserver-*"))
		for _, path := range found {
			look(path)
		}
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:8])
}
