//go:build unix

package main

import (
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
	"github.com/unalike-id/unalike/internal/testserver/proctest"
	"github.com/unalike-id/unalike/internal/testserver/promtest"
	"github.com/unalike-id/unalike/internal/testserver/proxytest"
)

const (
	// outageHorizon leaves seconds between the first alert, which fires after two thirds of it and a
	// second more, and its end.
	outageHorizon = 15 * time.Second
	// outageBack is how long it may take until there are IDs again once the coordinator is back: a
	// second, as the documentation promises, and two for a machine that is busy.
	outageBack = 3 * time.Second
)

// alertPause is how long the condition of an alert has to hold.
var alertPause = regexp.MustCompile(`(?m)^( +for:) .*$`)

// TestServeOutage: the coordinator is away for longer than the horizon. A real Prometheus has told
// before IDs stop; then callers read 503 and when to ask again; and there are IDs again as soon as
// the coordinator is back. With a state file, whose mark is moved all the while, it is the same:
// what is told of is the coordinator's window.
func TestServeOutage(t *testing.T) {
	t.Parallel()
	promtest.Need(t)
	for name, state := range map[string]string{
		"without a state file": "", "with a state file": "state: " +
			filepath.Join(t.TempDir(), "unalike.state") + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testServeOutage(t, state)
		})
	}
}

func testServeOutage(t *testing.T, state string) {
	etcd := etcdtest.Start(t)
	proxy := proxytest.Start(t, etcd.Endpoint)
	s := startFile(t, "coordinator: etcd://%s/outage\nttl: 5s\nhorizon: %v\nrenew: 500ms\n%s",
		proxy.Addr, outageHorizon, state).ready()
	rules := alertPause.ReplaceAllString(readFile(t, "deploy/prometheus/alerts.yaml"), "$1 1s")
	p := promtest.Start(t, 200*time.Millisecond, rules, strings.TrimPrefix(s.url, "http://"))
	await := func(what string, f func() bool) {
		t.Helper()
		proctest.Eventually(t, 2*time.Minute, what, f)
	}
	fires := func(alert string) bool {
		return p.Query(t, fmt.Sprintf("ALERTS{alertname=%q,alertstate='firing'}", alert)) > 0
	}
	await("it is scraped", func() bool { return p.Query(t, "unalike_ready == 1") == 1 })

	proxy.Refuse()
	told := false
	await("there are no IDs", func() bool {
		fired := fires("UnalikeRenewalsFail") // before the request, so that the IDs come after it
		resp, body := s.ask(defaultIDs, "")
		if resp.StatusCode == http.StatusOK {
			told = told || fired
			return false
		}
		if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" {
			t.Errorf("%s, Retry-After %q: %s", resp.Status, resp.Header.Get("Retry-After"), body)
		}
		return true
	})
	if !told {
		t.Error("there were no IDs any more when the alert fired")
	}
	for path, want := range map[string]int{
		"/readyz":  http.StatusServiceUnavailable,
		"/healthz": http.StatusOK,
	} {
		if status, body := s.get(path, ""); status != want {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	await("it is known that there are none", func() bool { return fires("UnalikeNotReady") })

	proxy.Restore()
	back := time.Now()
	s.await(defaultIDs, "", isOK)
	if took := time.Since(back); took > outageBack {
		t.Errorf("after the coordinator was back it took %v until there were IDs", took)
	}
	await("the alerts clear", func() bool {
		// but for that of the share of errors in the last five minutes
		return p.Query(t, "ALERTS{alertname!='UnalikeErrors'}") == 0
	})
	s.stop()
}
