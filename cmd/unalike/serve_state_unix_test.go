//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
	"github.com/unalike-id/unalike/internal/testserver/proctest"
)

// kept is what the tests read of a worker's health.
type kept struct {
	WorkerID   int     `json:"worker_id"`
	Generation uint64  `json:"generation"`
	WindowLeft float64 `json:"window_left_seconds"`
	MarkLeft   float64 `json:"mark_left_seconds"`
	Failing    string  `json:"failing"`
}

// worker returns the health of the one worker ID of a server.
func (s *served) worker() kept {
	s.t.Helper()
	_, body := s.get("/v1/generators", "")
	var all struct {
		Generators []struct {
			Health struct {
				Workers []kept `json:"workers"`
			} `json:"health"`
		} `json:"generators"`
	}
	if err := json.Unmarshal([]byte(body), &all); err != nil || len(all.Generators) == 0 ||
		len(all.Generators[0].Health.Workers) != 1 {
		s.t.Fatalf("%s: %v", body, err)
	}
	return all.Generators[0].Health.Workers[0]
}

// stateNamed is what a state file has once it says which namespace it is of.
var stateNamed = regexp.MustCompile(`"nonce":"[^"]`)

// awaitNamed waits until the state file says which namespace each grant in it is of, about a second
// after the start. Before that it is of no use without the coordinator.
func (s *served) awaitNamed(file string) {
	s.t.Helper()
	proctest.Eventually(s.t, time.Minute, "the state file names its namespace", func() bool {
		b, _ := os.ReadFile(file)
		text := string(b)
		return strings.Count(text, "unalike-state ") == 2 && !strings.Contains(text, `"nonce":""`) &&
			stateNamed.Match(b)
	})
}

// hoursRow is the row of docs/outages.md about an outage of hours, with the flag of init and the
// horizon that it names.
var hoursRow = regexp.MustCompile("(?m)^\\| hours \\|.*`unalike init (--max-horizon=?) " +
	"?(\\w+)`.*`horizon: (\\w+)`.* and a state file")

// TestServeState: in a namespace that was declared as docs/outages.md says, a server goes on when
// it is started again while etcd is killed, after SIGKILL and after SIGTERM, with hours of its
// window left. When etcd is back it has its worker ID still, and gives it back at the end.
func TestServeState(t *testing.T) {
	t.Parallel()
	row := hoursRow.FindStringSubmatch(readFile(t, "docs/outages.md"))
	if row == nil || row[2] != row[3] {
		t.Fatalf("docs/outages.md has no row about hours any more, or one with two horizons: %q", row)
	}
	horizon, err := time.ParseDuration(row[3])
	if err != nil {
		t.Fatal(err)
	}
	etcd := etcdtest.Start(t)
	url, file := "etcd://"+etcd.Endpoint+"/kept", filepath.Join(t.TempDir(), "unalike.state")
	init := strings.Join([]string{"init", row[1], row[2], "--coordinator", url}, " ")
	checkLines(t, nil, []line{{init, exitOK, fmt.Sprintf("and windows of up to %v\n", horizon)}})
	settings := writeFile(t, "serve.yaml",
		fmt.Sprintf("coordinator: %s\nttl: 5s\nhorizon: %v\nrenew: 500ms\nstate: %s\n", url, horizon,
			file))
	// for however slow a machine
	most, least := horizon.Seconds(), (horizon - 10*time.Minute).Seconds()
	last := core.ID(-1)
	launch := func() *served {
		s := startServe(t, "--config", settings).ready()
		last = s.take(last)
		return s
	}
	s := launch()
	first := s.worker()
	check := func(when string, away bool) {
		t.Helper()
		w := s.worker()
		if w.WorkerID != first.WorkerID || w.WindowLeft < least || w.WindowLeft > most ||
			w.MarkLeft > 4 ||
			(w.Failing != "") != away {
			t.Errorf("%s: %+v", when, w)
		}
	}
	if check("at first", false); first.Generation != 1 || first.MarkLeft <= 0 {
		t.Errorf("at first: %+v", first)
	}
	s.awaitNamed(file)
	etcd.Kill()
	s.kill()
	for _, end := range []func(*served){(*served).kill, (*served).stop} {
		s = launch() // which etcd had no part in
		check("while etcd is away", true)
		end(s)
	}
	s = launch()
	etcd.Restart(t)
	s.await("/v1/generators", "", func(int, string) bool { return s.worker().Failing == "" })
	check("etcd is back", false)
	s.take(last)
	s.stop()
	// An operator has the same settings, and no use for the file.
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	checkLines(t, nil, []line{{"workers --config " + settings, exitOK, "0 held"}})
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("an operator's command has made the state file: %v", err)
	}
}
