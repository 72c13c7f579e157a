//go:build unix

package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
	"github.com/unalike-id/unalike/internal/testserver/promtest"
	"github.com/unalike-id/unalike/internal/testserver/proxytest"
)

const (
	// outageHorizon leaves seconds between the first alert, which fires after two thirds of it and a second more, and its end.
	outageHorizon = 15 * time.Second
	// outageBack is how long it may take until there are IDs again once the coordinator is back: a second, as the
	// documentation promises, and two for a machine that is busy.
	outageBack = 3 * time.Second
)

// alertPause is how long the condition of an alert has to hold.
var alertPause = regexp.MustCompile(`(?m)^( +for:) .*$`)

// TestServeOutage: the coordinator is away for longer than the horizon. A real Prometheus has told before IDs stop; then
// callers read 503 and when to ask again; and there are IDs again as soon as the coordinator is back. With a state file,
// whose mark is moved all the while, it is the same: what is told of is the coordinator's window.
func TestServeOutage(t *testing.T) {
	t.Parallel()
	promtest.Need(t)
	for name, state := range map[string]string{"without a state file": "", "with a state file": "state: " + filepath.Join(t.TempDir(), "unalike.state") + "\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testServeOutage(t, state)
		})
	}
}

func testServeOutage(t *testing.T, state string) {
	etcd := etcdtest.Start(t)
	proxy := proxytest.Start(t, strings.TrimPrefix(etcd.Endpoint, "http://"))
	s := startServe(t, "--config", writeFile(t, "serve.yaml",
		fmt.Sprintf("coordinator: etcd://%s/outage\nttl: 5s\nhorizon: %v\nrenew: 500ms\n%s", proxy.Addr, outageHorizon, state)))
	s.await("/readyz", "", isOK)
	rules, err := os.ReadFile("../../deploy/prometheus/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	p := promtest.Start(t, 200*time.Millisecond, alertPause.ReplaceAllString(string(rules), "$1 1s"), strings.TrimPrefix(s.url, "http://"))
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	await := func(what string, f func() bool) {
		t.Helper()
		for end := time.Now().Add(2 * time.Minute); !f(); <-tick.C {
			if time.Now().After(end) {
				t.Fatalf("not: %s\n%s", what, s.stderr.String())
			}
		}
	}
	await("it is scraped", func() bool { return p.Query(t, "unalike_ready == 1") == 1 })

	proxy.Refuse()
	fires := func() bool { return p.Alerts(t)["UnalikeRenewalsFail"].State == "firing" }
	told := false
	await("there are no IDs", func() bool {
		fired := fires() // before the request, so that the IDs come after it
		status, retry, body := s.ask(t)
		switch {
		case status == http.StatusOK:
			told = told || fired
			return false
		case status != http.StatusServiceUnavailable || retry == "" || !strings.Contains(body, `"status":503`):
			t.Errorf("%d, Retry-After %q: %s", status, retry, body)
		}
		return true
	})
	if !told {
		t.Error("there were no IDs any more when the alert fired")
	}
	if status, body := s.get("/readyz", ""); status != http.StatusServiceUnavailable {
		t.Errorf("/readyz: %d %s", status, body)
	}
	if status, body := s.get("/healthz", ""); status != http.StatusOK {
		t.Errorf("/healthz: %d %s", status, body)
	}
	await("it is known that there are none", func() bool { return p.Alerts(t)["UnalikeNotReady"].State == "firing" })

	proxy.Heal()
	back := time.Now()
	await("there are IDs again", func() bool { status, _, _ := s.ask(t); return status == http.StatusOK })
	if took := time.Since(back); took > outageBack {
		t.Errorf("after the coordinator was back it took %v until there were IDs", took)
	} else {
		t.Logf("back after %v", took)
	}
	await("the alerts clear", func() bool {
		a := p.Alerts(t) // but for that of the share of errors in the last five minutes
		delete(a, "UnalikeErrors")
		return len(a) == 0
	})
	s.stop()
}

// ask asks for an ID.
func (s *served) ask(t *testing.T) (status int, retryAfter, body string) {
	t.Helper()
	resp, err := s.client.Get(s.url + "/v1/generators/default/ids")
	if err != nil {
		t.Fatalf("%v\n%s", err, s.stderr.String())
	}
	defer resp.Body.Close()
	text := make([]byte, 4<<10)
	n, _ := resp.Body.Read(text) // what is missing shows in the comparison
	return resp.StatusCode, resp.Header.Get("Retry-After"), string(text[:n])
}
