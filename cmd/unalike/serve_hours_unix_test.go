//go:build unix

package main

import (
	"crypto/rand"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
)

// hoursRow is the row of docs/outages.md about an outage of hours, with the flag of init and the
// horizon that it names.
var hoursRow = regexp.MustCompile("(?m)^\\| hours \\|.*`unalike init (--max-horizon=?) ?(\\w+)`.*`horizon: (\\w+)`.* and a state file")

// hours is a namespace that was declared by the real program as the page says, on an etcd in a
// process of its own, which is to be killed.
type hours struct {
	etcd    *etcdtest.Member
	url     string
	file    string
	horizon time.Duration
}

func newHours(t *testing.T) *hours {
	t.Helper()
	row := hoursRow.FindStringSubmatch(readFile(t, "docs/outages.md"))
	if row == nil {
		t.Fatal("docs/outages.md has no row about hours any more")
	}
	horizon, err := time.ParseDuration(row[3])
	if err != nil || row[2] != row[3] {
		t.Fatalf("the row about hours declares %s, and has generators with %s: %v", row[2], row[3], err)
	}
	h := &hours{etcd: etcdtest.StartCluster(t, 1).Members[0], file: filepath.Join(t.TempDir(), "unalike.state"), horizon: horizon}
	h.url = "etcd://" + h.etcd.Endpoint + "/" + rand.Text()
	p := start(t, t.TempDir(), "init", row[1], row[2], "--coordinator", h.url)
	said, err := p.out.ReadString('\n')
	if code := p.wait(); err != nil || code != exitOK || !strings.HasSuffix(said, fmt.Sprintf("and windows of up to %v\n", horizon)) {
		t.Fatalf("init: exit code %d, %q, %v\n%s", code, said, err, &p.stderr)
	}
	return h
}

// TestServeHours: in a namespace that was declared for it, a server that was killed goes on while
// its etcd is killed, with hours of its window left, and has its worker ID when etcd is back.
func TestServeHours(t *testing.T) {
	t.Parallel()
	h := newHours(t)
	settings := writeFile(t, "serve.yaml", fmt.Sprintf("coordinator: %s\nhorizon: %v\nrenew: 500ms\nstate: %s\n", h.url, h.horizon, h.file))
	most, least := h.horizon.Seconds(), (h.horizon - 10*time.Minute).Seconds() // for however slow a machine
	var all tally
	launch := func() *served {
		began := time.Now()
		s := startServe(t, "--config", settings)
		s.await("/readyz", "", isOK)
		s.take(&all)
		t.Logf("the first IDs came %v after the start", time.Since(began))
		return s
	}
	s := launch()
	first := s.worker()
	if first.Generation != 1 || first.WindowLeft < least || first.WindowLeft > most || first.MarkLeft <= 0 || first.MarkLeft > 4 || first.Failing != "" {
		t.Errorf("at first: %+v", first)
	}
	s.awaitNamed(h.file)
	h.etcd.Kill()
	for range 2 {
		s.kill()
		s = launch()
		if w := s.worker(); w.WorkerID != first.WorkerID || w.WindowLeft < least || w.WindowLeft > most || w.MarkLeft > 4 || w.Failing == "" {
			t.Errorf("while etcd is away: %+v", w)
		}
	}
	h.etcd.Restart(t)
	back := time.Now()
	s.await("/v1/generators", "", func(int, string) bool { return s.worker().Failing == "" })
	t.Logf("renewed %v after etcd was back", time.Since(back))
	if w := s.worker(); w.WorkerID != first.WorkerID || w.WindowLeft < least || w.WindowLeft > most || time.Since(w.LastRenewal) > time.Minute {
		t.Errorf("etcd is back: %+v", w)
	}
	s.take(&all)
	s.stop()
	if len(all.last) != 1 || all.count != 400 {
		t.Errorf("%d IDs of the worker IDs %v were issued; want 400 of one", all.count, all.last)
	}
}
