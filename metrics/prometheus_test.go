package metrics_test

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/testserver/promtest"
	"github.com/unalike-id/unalike/metrics"
	"github.com/unalike-id/unalike/segment"
	"github.com/unalike-id/unalike/segment/segmenttest"
)

const (
	rulesFile = "../deploy/prometheus/alerts.yaml"
	boardFile = "../deploy/grafana/unalike.json"
	// soon is for a machine that is busy with other things.
	soon = 90 * time.Second
)

var (
	alertName  = regexp.MustCompile(`(?m)^ +- alert: (\w+)$`)
	testedName = regexp.MustCompile(`(?m)^ +alertname: (\w+)$`)
	duration   = regexp.MustCompile(`(?m)^( +for:) .*$`)
	metricName = regexp.MustCompile(`unalike_\w+`)
	variable   = regexp.MustCompile(`\$[a-z]+`) // of the board
)

func read(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestRules: promtool accepts the rules, each of which has a test in which it fires and one in
// which it must not.
func TestRules(t *testing.T) {
	promtest.Need(t)
	for _, args := range [][]string{
		{"check", "rules", "alerts.yaml"},
		{"test", "rules", "alerts_test.yaml"},
	} {
		cmd := exec.CommandContext(t.Context(), "promtool", args...)
		cmd.Dir = "../deploy/prometheus"
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v: %v\n%s", cmd, err, out)
		}
	}
	cases := map[string]int{}
	for _, m := range testedName.FindAllStringSubmatch(
		read(t, "../deploy/prometheus/alerts_test.yaml"), -1) {
		cases[m[1]]++
	}
	rules := alertName.FindAllStringSubmatch(read(t, rulesFile), -1)
	if len(rules) < 9 {
		t.Errorf("%d alerts are found", len(rules))
	}
	for _, m := range rules {
		if cases[m[1]] < 2 {
			t.Errorf("%s has %d tests", m[1], cases[m[1]])
		}
	}
}

// boardExpressions returns what the board asks for.
func boardExpressions(t *testing.T) (all []string) {
	t.Helper()
	var board struct {
		Panels []struct {
			Targets []struct {
				Expr string `json:"expr"`
			} `json:"targets"`
		} `json:"panels"`
	}
	if err := json.Unmarshal([]byte(read(t, boardFile)), &board); err != nil {
		t.Fatal(err)
	}
	for _, p := range board.Panels {
		for _, target := range p.Targets {
			all = append(all, variable.ReplaceAllString(target.Expr, ".*"))
		}
	}
	if len(all) < 10 {
		t.Fatalf("the board has %d expressions", len(all))
	}
	return all
}

// until polls until f is true.
func until(t *testing.T, what string, f func() bool) {
	t.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(soon); !f(); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("after %v, not: %s", soon, what)
		}
	}
}

// scraped returns the address of a page with metrics of a generator, of tags, and of worker IDs.
func scraped(t *testing.T, f *coordtest.Fake) (addr string) {
	t.Helper()
	reg := prometheus.NewRegistry()
	cfg := core.Config{
		StateFile: filepath.Join(t.TempDir(), "state"), Place: "fake", // so that there are all metrics
		Lease: coord.LeaseConfig{
			TTL: 3 * time.Second, Horizon: 6 * time.Second,
			RenewEvery: 500 * time.Millisecond,
		},
	}
	g, err := core.New(t.Context(), f.Client(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close(context.Background()) })
	set, err := segment.NewSet(t.Context(),
		segmenttest.NewFake(segment.Tag{Name: "orders", Next: 1, Step: 10, Most: 99}),
		segment.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = set.Close(context.Background()) })
	for _, err := range []error{
		metrics.Register(reg, "orders", g),
		metrics.RegisterSegments(reg, set.Health),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	service, err := metrics.RegisterServer(reg)
	if err != nil {
		t.Fatal(err)
	}
	service.Store(set.Check)
	service.Request("/v1/generators/{generator}/ids", "GET", 200, time.Millisecond)
	reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "unalike_connections",
		Help: "As the command shows it.",
	}, func() float64 { return 1 }))
	service.WorkerIDs("orders", map[string]int{"held": 1, "free": 1023})
	if _, err := set.Next(t.Context(), "orders"); err != nil {
		t.Fatal(err)
	}
	page := httptest.NewServer(promhttp.HandlerFor(reg, promhttp.HandlerOpts{}))
	t.Cleanup(page.Close)
	return page.Listener.Addr().String()
}

// TestBoard: what the alerts and the board ask for, a real Prometheus has of a generator, and in
// peace there are no alerts. When they fire is shown by TestFleets, and by the command's
// TestServeOutage.
func TestBoard(t *testing.T) {
	promtest.Need(t)
	rules := duration.ReplaceAllString(read(t, rulesFile), "$1 1s")
	p := promtest.Start(t, 200*time.Millisecond, rules,
		scraped(t, coordtest.NewFake(coordtest.FakeConfig{})))

	var names []string
	for _, name := range append(metricName.FindAllString(rules, -1),
		metricName.FindAllString(strings.Join(boardExpressions(t), "\n"), -1)...) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, name := range names {
		until(t, "there is "+name, func() bool { return p.Query(t, name) > 0 })
	}
	for _, expr := range boardExpressions(t) {
		until(t, "the board has "+expr, func() bool { return p.Query(t, expr) > 0 })
	}
	// nor that of the start, when there was nobody
	until(t, "in peace there are no alerts", func() bool { return p.Query(t, "ALERTS") == 0 })
}
