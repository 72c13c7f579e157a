package metrics_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
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
	"github.com/unalike-id/unalike/core/coretest"
	"github.com/unalike-id/unalike/metrics"
	"github.com/unalike-id/unalike/segment"
	"github.com/unalike-id/unalike/segment/segmenttest"
)

// newMetrics returns metrics, and a function that scrapes them.
func newMetrics(t *testing.T) (*metrics.Metrics, func() string) {
	t.Helper()
	reg := prometheus.NewPedanticRegistry()
	m, err := metrics.New(reg, metrics.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return m, func() string {
		t.Helper()
		w := httptest.NewRecorder()
		promhttp.HandlerFor(reg, promhttp.HandlerOpts{}).ServeHTTP(w,
			httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil))
		if w.Code != 200 {
			t.Fatalf("%d: %s", w.Code, w.Body)
		}
		return w.Body.String()
	}
}

// expect checks that the lines are there.
func expect(t *testing.T, text string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !slices.Contains(strings.Split(text, "\n"), line) {
			t.Errorf("lacks %s", line)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}

func TestGenerator(t *testing.T) {
	m, scrape := newMetrics(t)
	g := coretest.NewWith(t, core.Config{Stripes: 2})
	info := metrics.Info{Namespace: "shop", Coordinator: "etcd"}
	if err := m.Generator("orders", g, info); err != nil {
		t.Fatal(err)
	}
	if n, err := g.Fill(t.Context(), make([]core.ID, 7)); n != 7 || err != nil {
		t.Fatal(n, err)
	}
	m.WorkerIDs("orders", map[string]int{"held": 3, "free": 1021})
	m.WorkerIDs("unknown", map[string]int{"held": 3})
	expires := float64(core.DefaultLayout().Expires().UnixMilli()) / 1000
	expect(t, scrape(),
		`unalike_generator_info{coordinator="etcd",generator="orders",layout="`+
			core.DefaultLayout().String()+`",namespace="shop"} 1`,
		`unalike_ready{generator="orders"} 1`,
		fmt.Sprintf(`unalike_worker_id{generator="orders",stripe="0"} %d`,
			g.Health().Workers[0].WorkerID),
		fmt.Sprintf(`unalike_worker_id{generator="orders",stripe="1"} %d`,
			g.Health().Workers[1].WorkerID),
		`unalike_generation{generator="orders",stripe="1"} 1`,
		`unalike_ids_issued_total{generator="orders"} 7`,
		`unalike_rollbacks_total{generator="orders"} 0`,
		`unalike_lead_seconds{generator="orders",stripe="0"} 0`,
		`unalike_ceiling_ids_per_second{generator="orders"} 8.192e+06`,
		fmt.Sprintf(`unalike_layout_expires_timestamp_seconds{generator="orders"} %v`, expires),
		`unalike_worker_ids{generator="orders",state="held"} 3`,
		`unalike_worker_ids{generator="orders",state="free"} 1021`,
	)
}

// TestErrors: each call that failed is counted, those that their context ended too.
func TestErrors(t *testing.T) {
	m, scrape := newMetrics(t)
	f := coordtest.NewFake(coordtest.FakeConfig{})
	f.Outage(true)
	g, err := core.Start(f.Client(), core.Config{})
	if err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	defer func() { _ = g.Close(ended) }()
	if err := m.Generator("orders", g, metrics.Info{}); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := g.Next(); !errors.Is(err, core.ErrNotStarted) {
			t.Fatal(err)
		}
	}
	if _, err := g.NextContext(ended); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	text := scrape()
	expect(t, text,
		`unalike_ready{generator="orders"} 0`,
		`unalike_worker_id{generator="orders",stripe="0"} -1`,
		`unalike_errors_total{generator="orders",kind="not_started"} 3`,
		`unalike_errors_total{generator="orders",kind="context_ended"} 1`,
		`unalike_errors_total{generator="orders",kind="window_ended"} 0`,
	)
	if strings.Contains(text, "unalike_last_renewal_timestamp_seconds{") {
		t.Error("there is a renewal before the first one")
	}
}

// TestClosed: nothing is shown of a generator that was closed, and its name is free.
func TestClosed(t *testing.T) {
	m, scrape := newMetrics(t)
	f := coordtest.NewFake(coordtest.FakeConfig{})
	for range 2 {
		g, err := core.New(t.Context(), f.Client(), core.Config{OnCall: m.OnCall("orders")})
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Generator("orders", g, metrics.Info{}); err != nil {
			t.Fatal(err)
		}
		if err := m.Generator("orders", g, metrics.Info{}); !errors.Is(err, metrics.ErrTwice) {
			t.Errorf("the name in use: %v", err)
		}
		expect(t, scrape(),
			`unalike_coordinator_call_duration_seconds_count{generator="orders",op="acquire",result="ok"} 1`)
		if err := g.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if text := scrape(); text != "" {
			t.Errorf("after Close there is\n%s", text)
		}
	}
}

// TestCalls: what came of a call is one of a few words, and a name that got no generator can be
// forgotten.
func TestCalls(t *testing.T) {
	m, scrape := newMetrics(t)
	told := m.OnCall("orders")
	for _, err := range []error{
		nil, nil, context.DeadlineExceeded, context.Canceled,
		coord.ErrLeaseLost, coord.ErrNoWorkerID, coord.ErrQuarantined, errors.New("password=secret"),
	} {
		told(coord.Call{Op: coord.CallRenew, WorkerID: 7, Took: 20 * time.Millisecond, Err: err})
	}
	text := scrape()
	const series = `unalike_coordinator_call_duration_seconds`
	for _, line := range []string{
		`_bucket{%sok",le="0.01"} 0`, `_bucket{%sok",le="0.025"} 2`, `_count{%stimeout"} 1`,
		`_count{%scanceled"} 1`, `_count{%slost"} 1`, `_count{%sno_worker_id"} 1`,
		`_count{%squarantined"} 1`, `_count{%serror"} 1`,
	} {
		expect(t, text, series+fmt.Sprintf(line, `generator="orders",op="renew",result="`))
	}
	if strings.Contains(text, "secret") {
		t.Error("an error's text is a label")
	}
	m.Forget("orders")
	if text := scrape(); text != "" {
		t.Errorf("forgotten, and there is\n%s", text)
	}
}

func TestSegments(t *testing.T) {
	m, scrape := newMetrics(t)
	store := segmenttest.NewFake(segment.Tag{Name: "a/b", Next: 1, Step: 10, Most: 999},
		segment.Tag{Name: "c", Next: 1, Step: 10})
	set, err := segment.NewSet(t.Context(), store, segment.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = set.Close(context.Background()) }()
	one, err := segment.New(t.Context(), store, "c", segment.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{m.Set(set), m.Sequence(one)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, err := range []error{m.Set(set), m.Sequence(one)} {
		if !errors.Is(err, metrics.ErrTwice) {
			t.Errorf("shown twice: %v", err)
		}
	}
	for range 3 {
		if _, err := set.Next(t.Context(), "a/b"); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := one.Next(); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	expect(t, scrape(),
		`unalike_segment_ready{tag="a/b"} 1`,
		`unalike_segment_issued_total{tag="a/b"} 3`,
		`unalike_segment_most{tag="a/b"} 999`, `unalike_segment_unused{tag="a/b"} 996`,
		`unalike_segment_refills_total{result="error",tag="a/b"} 0`,
		`unalike_segment_issued_total{tag="c"} 1`, // the tag's own sequence comes before the set's
	)
	value := func(text, name string) string {
		return regexp.MustCompile(`unalike_segment_refill` + name + `tag="a/b"} \d+`).FindString(text)
	}
	const total, seen = `s_total{result="ok",`, `_duration_seconds_count{`
	before, now := scrape(), scrape()
	for value(before, total) != value(now, total) { // there was another one between the two
		before, now = now, scrape()
	}
	if first := value(before, seen); first == "" || first != value(now, seen) {
		t.Errorf("a refill counts once, however often it is seen: %q, %q", first, value(now, seen))
	}
	if err := one.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	scrape()
	expect(t, scrape(), `unalike_segment_issued_total{tag="c"} 0`)
}

func TestBadArguments(t *testing.T) {
	reg := prometheus.NewRegistry()
	m, err := metrics.New(reg, metrics.Options{Buckets: []float64{1, 2}})
	if err != nil {
		t.Fatal(err)
	}
	g := coretest.New(t)
	_, noRegisterer := metrics.New(nil, metrics.Options{})
	_, falling := metrics.New(prometheus.NewRegistry(), metrics.Options{Buckets: []float64{2, 1}})
	for what, err := range map[string]error{
		"empty name":      m.Generator("", g, metrics.Info{}),
		"long name":       m.Generator(strings.Repeat("x", 129), g, metrics.Info{}),
		"name not UTF-8":  m.Generator("\xff", g, metrics.Info{}),
		"namespace":       m.Generator("a", g, metrics.Info{Namespace: "\xff"}),
		"no generator":    m.Generator("a", nil, metrics.Info{}),
		"no sequence":     m.Sequence(nil),
		"no set":          m.Set(nil),
		"no registerer":   noRegisterer,
		"falling buckets": falling,
	} {
		if !errors.Is(err, coord.ErrInvalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := metrics.New(reg, metrics.Options{}); err == nil {
		t.Error("metrics are registered twice")
	}
}
