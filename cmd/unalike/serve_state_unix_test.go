//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
)

// stateHorizon outlasts what is done here while the coordinator is away, on a slow machine too.
const stateHorizon = 2 * time.Minute

// kept is what the tests read of a worker's health.
type kept struct {
	WorkerID    int       `json:"worker_id"`
	Generation  uint64    `json:"generation"`
	LastRenewal time.Time `json:"last_renewal"`
	WindowLeft  float64   `json:"window_left_seconds"`
	MarkLeft    float64   `json:"mark_left_seconds"`
	Failing     string    `json:"failing"`
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
	if err := json.Unmarshal([]byte(body), &all); err != nil || len(all.Generators) == 0 || len(all.Generators[0].Health.Workers) != 1 {
		s.t.Fatalf("%s: %v", body, err)
	}
	return all.Generators[0].Health.Workers[0]
}

// take notes 100 IDs of a server.
func (s *served) take(y *tally) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.url+"/v1/generators/default/ids?count=100", http.NoBody)
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Accept", "text/plain")
	resp, err := s.client.Do(req)
	if err != nil {
		s.t.Fatalf("%v\n%s", err, s.stderr.String())
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := y.addLines(string(text), 100); err != nil || resp.StatusCode != http.StatusOK {
		s.t.Fatalf("%s: %v\n%s", resp.Status, err, text)
	}
}

// stateNamed is what a state file has once it says which namespace it is of.
var stateNamed = regexp.MustCompile(`"nonce":"[^"]`)

// awaitNamed waits until the state file says which namespace each grant in it is of, about a second
// after the start. Before that it is of no use without the coordinator.
func (s *served) awaitNamed(file string) {
	s.t.Helper()
	for end := time.Now().Add(time.Minute); ; pauseFor(s.t.Context(), 20*time.Millisecond) {
		b, err := os.ReadFile(file)
		records := strings.Split(string(b), "unalike-state ")
		if err == nil && len(records) == 3 && !strings.Contains(records[1], `"nonce":""`) && !strings.Contains(records[2], `"nonce":""`) && stateNamed.Match(b) {
			return
		}
		if time.Now().After(end) {
			s.t.Fatalf("the state file: %v\n%s\n%s", err, b, &s.stderr)
		}
	}
}

// kill ends the program with SIGKILL.
func (s *served) kill() {
	s.t.Helper()
	if err := s.cmd.Process.Kill(); err != nil {
		s.t.Fatal(err)
	}
	_ = s.cmd.Wait() // it was killed
}

// hoursRow is the row of docs/outages.md about an outage of hours, with the flag of init and the
// horizon that it names.
var hoursRow = regexp.MustCompile("(?m)^\\| hours \\|.*`unalike init (--max-horizon=?) ?(\\w+)`.*`horizon: (\\w+)`.* and a state file")

// TestServeState: in a namespace that was declared as docs/outages.md says, a server goes on when it is
// started again while etcd is killed, after SIGKILL and after SIGTERM, with hours of its window left.
// When etcd is back it has its worker ID still, and gives it back at the end.
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
	etcd := etcdtest.StartCluster(t, 1).Members[0]
	url, file := "etcd://"+etcd.Endpoint+"/kept", filepath.Join(t.TempDir(), "unalike.state")
	said := fmt.Sprintf("and windows of up to %v\n", horizon)
	wantCall(t, call(t, nil, "", "init", row[1], row[2], "--coordinator", url), exitOK, said, "")
	settings := writeFile(t, "serve.yaml", fmt.Sprintf("coordinator: %s\nttl: 5s\nhorizon: %v\nrenew: 500ms\nstate: %s\n", url, horizon, file))
	most, least := horizon.Seconds(), (horizon - 10*time.Minute).Seconds() // for however slow a machine
	var all tally
	launch := func() *served {
		s := startServe(t, "--config", settings)
		s.await("/readyz", "", isOK)
		s.take(&all)
		return s
	}
	s := launch()
	first := s.worker()
	check := func(when string, w kept, away bool) {
		t.Helper()
		if w.WorkerID != first.WorkerID || w.WindowLeft < least || w.WindowLeft > most || w.MarkLeft > 4 || (w.Failing != "") != away {
			t.Errorf("%s: %+v", when, w)
		}
	}
	if check("at first", first, false); first.Generation != 1 || first.MarkLeft <= 0 {
		t.Errorf("at first: %+v", first)
	}
	s.awaitNamed(file)
	etcd.Kill()
	s.kill()
	for _, end := range []func(*served){(*served).kill, (*served).stop} {
		s = launch() // which etcd had no part in
		check("while etcd is away", s.worker(), true)
		end(s)
	}
	s = launch()
	etcd.Restart(t)
	s.await("/v1/generators", "", func(int, string) bool { return s.worker().Failing == "" })
	w := s.worker()
	if check("etcd is back", w, false); time.Since(w.LastRenewal) > time.Minute {
		t.Errorf("etcd is back: %+v", w)
	}
	s.take(&all)
	s.stop()
	if len(all.last) != 1 {
		t.Errorf("the worker IDs %v were used", all.last)
	}
	// An operator has the same settings, and no use for the file.
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	wantCall(t, call(t, nil, "", "workers", "--config", settings), exitOK, "0 held", "")
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("an operator's command has made the state file: %v", err)
	}
}

// TestStateFileInUse: whoever wants the file of a running server is told who has it, and goes on
// when that has ended. A server that is started meanwhile is not ready, and says the same.
func TestStateFileInUse(t *testing.T) {
	t.Parallel()
	etcd := etcdtest.Start(t)
	file := filepath.Join(t.TempDir(), "unalike.state")
	url := fmt.Sprintf("etcd://%s/used?horizon=%v&state=%s", strings.TrimPrefix(etcd.Endpoint, "http://"), stateHorizon, file)
	var all tally
	old := startServe(t, "--coordinator", url)
	old.await("/readyz", "", isOK)
	old.take(&all)
	inUse := fmt.Sprintf("state file %q: it is in use by process %d", file, old.cmd.Process.Pid)
	settings := writeFile(t, "short.yaml", "coordinator: "+url+"\nstart_timeout: 2s\n")
	wantCall(t, call(t, nil, "", "generate", "--config", settings), exitFailure, "", inUse)

	next := startServe(t, "--coordinator", url)
	next.await("/readyz", "", func(status int, body string) bool {
		return status == http.StatusServiceUnavailable && strings.Contains(body, inUse)
	})
	old.take(&all)
	before := old.worker()
	old.stop()
	next.await("/readyz", "", isOK)
	next.take(&all)
	if w := next.worker(); w.MarkLeft <= 0 {
		t.Errorf("%+v, before %+v", w, before)
	}
	next.stop()
}
