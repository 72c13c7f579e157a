// Package promtest runs a Prometheus for tests, as Debian's package installs it.
package promtest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/unalike-id/unalike/internal/testserver/proctest"
)

// Need makes sure that prometheus and promtool are installed, or skips the test.
func Need(tb testing.TB) {
	tb.Helper()
	proctest.Need(tb, "prometheus", "prometheus", "promtool")
}

// Server is a Prometheus in a process of its own.
type Server struct {
	url    string
	client *http.Client
}

// Start runs a Prometheus that scrapes the targets, host:port each, and evaluates the rules
// every interval. It ends with the test.
func Start(tb testing.TB, interval time.Duration, rules string, targets ...string) *Server {
	tb.Helper()
	Need(tb)
	dir, addr := tb.TempDir(), proctest.Addr(proctest.FreePorts(tb, 1)[0])
	list, err := json.Marshal(targets)
	if err != nil {
		tb.Fatal(err)
	}
	config := fmt.Sprintf("global: {scrape_interval: %v, scrape_timeout: %v, evaluation_interval: "+
		"%v}\nrule_files: [rules.yaml]\nscrape_configs: [{job_name: unalike, static_configs: "+
		"[{targets: %s}]}]\n", interval, interval, interval, list)
	for name, text := range map[string]string{"rules.yaml": rules, "prometheus.yaml": config} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	each := &http.Transport{DisableKeepAlives: true}
	s := &Server{
		url: "http://" + addr, client: &http.Client{Timeout: proctest.ReadyTime, Transport: each},
	}
	proctest.NewServer(func() *exec.Cmd {
		return exec.Command("prometheus", "--log.level=warn", "--web.listen-address="+addr,
			"--config.file="+filepath.Join(dir, "prometheus.yaml"),
			"--storage.tsdb.path="+filepath.Join(dir, "data"))
	}, func() bool {
		_, err := s.query("ALERTS")
		return err == nil
	}).Restart(tb)
	return s
}

// Query evaluates an expression now and returns how many series there are. An alert that is pending
// or fires is a series of ALERTS, with its alertname and alertstate.
func (s *Server) Query(tb testing.TB, expr string) int {
	tb.Helper()
	series, err := s.query(expr)
	if err != nil {
		tb.Fatalf("%s: %v", expr, err)
	}
	return series
}

func (s *Server) query(expr string) (series int, err error) {
	resp, err := s.client.Get(s.url + "/api/v1/query?query=" + url.QueryEscape(expr))
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err
	}
	if resp.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("%s: %s", resp.Status, body)
	}
	var reply struct {
		Data struct {
			Result []json.RawMessage `json:"result"`
		} `json:"data"`
	}
	err = json.Unmarshal(body, &reply)
	return len(reply.Data.Result), err
}
