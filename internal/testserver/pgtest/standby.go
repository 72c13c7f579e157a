package pgtest

import (
	"os"
	"path/filepath"
	"testing"
)

// Standby runs a server that has what this one has, and gets what this one writes.
func (s *Server) Standby(tb testing.TB) *Server {
	tb.Helper()
	b := &Server{Dir: filepath.Join(filepath.Dir(s.Dir), "standby"), args: s.args}
	b.copyOf(tb, s)
	return b.startAnywhere(tb)
}

// Follow starts a server that has ended as the standby of another one. What it had is lost.
func (s *Server) Follow(tb testing.TB, primary *Server) {
	tb.Helper()
	if err := os.RemoveAll(s.Dir); err != nil {
		tb.Fatal(err)
	}
	s.copyOf(tb, primary)
	s.Restart(tb)
}

// copyOf makes the data folder of a standby.
func (s *Server) copyOf(tb testing.TB, primary *Server) {
	tb.Helper()
	copying := s.Command(tb, filepath.Join(folder(tb), "pg_basebackup"), "-D", s.Dir, "-h",
		"127.0.0.1", "-p", primary.Port, "-U", "postgres", "-R", "-X", "stream", "-c", "fast",
		"--no-sync")
	if out, err := copying.CombinedOutput(); err != nil {
		tb.Fatalf("pg_basebackup: %v\n%s", err, out)
	}
}
