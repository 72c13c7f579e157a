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
	"testing/synctest"
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

// newRegistry returns a registry, and a function that scrapes it.
func newRegistry(t *testing.T) (*prometheus.Registry, func() string) {
	t.Helper()
	reg := prometheus.NewPedanticRegistry()
	return reg, func() string {
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
	reg, scrape := newRegistry(t)
	g := coretest.NewWith(t, core.Config{Stripes: 2})
	if err := metrics.Register(reg, "orders", g); err != nil {
		t.Fatal(err)
	}
	if n, err := g.Fill(t.Context(), make([]core.ID, 7)); n != 7 || err != nil {
		t.Fatal(n, err)
	}
	server, err := metrics.RegisterServer(reg)
	if err != nil {
		t.Fatal(err)
	}
	server.WorkerIDs("orders", map[string]int{"held": 3, "free": 1021})
	expires := float64(core.DefaultLayout().Expires().UnixMilli()) / 1000
	expect(t, scrape(),
		`unalike_generator_info{generator="orders",layout="`+core.DefaultLayout().String()+
			`",place=""} 1`,
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
	reg, scrape := newRegistry(t)
	f := coordtest.NewFake(coordtest.FakeConfig{})
	f.Outage(true)
	g, err := core.Start(f.Client(), core.Config{})
	if err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	defer func() { _ = g.Close(ended) }()
	if err := metrics.Register(reg, "orders", g); err != nil {
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
	reg, scrape := newRegistry(t)
	f := coordtest.NewFake(coordtest.FakeConfig{})
	for range 2 {
		g, err := core.New(t.Context(), f.Client(), core.Config{})
		if err != nil {
			t.Fatal(err)
		}
		if err := metrics.Register(reg, "orders", g); err != nil {
			t.Fatal(err)
		}
		if err := metrics.Register(reg, "orders", g); !errors.Is(err, coord.ErrInvalid) {
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

// failing is a coordinator whose renewals fail with one error after the other.
type failing struct {
	coord.Coordinator
	errs chan error
}

func (f failing) Renew(ctx context.Context, g coord.Grant, until int64) (coord.Grant, error) {
	select {
	case err := <-f.errs:
		time.Sleep(20 * time.Millisecond)
		return coord.Grant{}, err
	default:
		return f.Coordinator.Renew(ctx, g, until)
	}
}

// TestRegister_Calls: calls to the coordinator are counted, with one of a few words as the result,
// and those of the start as well.
func TestRegister_Calls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg, scrape := newRegistry(t)
		errs := make(chan error, 10)
		for _, err := range []error{
			context.DeadlineExceeded, context.Canceled, coord.ErrNoWorkerID, coord.ErrQuarantined,
			errors.New("password=secret"), coord.ErrLeaseLost,
		} {
			errs <- err
		}
		c := failing{coordtest.NewFake(coordtest.FakeConfig{}).Client(), errs}
		g, err := core.New(t.Context(), c, core.Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = g.Close(context.Background()) }()
		if err := metrics.Register(reg, "orders", g); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute) // renewals
		text := scrape()
		for _, line := range []string{
			`op="acquire",result="ok"} 2`, `op="renew",result="timeout"} 1`, // and after the loss
			`op="renew",result="canceled"} 1`, `op="renew",result="no_worker_id"} 1`,
			`op="renew",result="error"} 1`, `op="renew",result="quarantined"} 1`,
			`op="renew",result="lost"} 1`,
		} {
			expect(t, text, `unalike_coordinator_call_duration_seconds_count{generator="orders",`+line)
		}
		for _, line := range []string{`le="0.01"} 0`, `le="0.025"} 1`} {
			expect(t, text, `unalike_coordinator_call_duration_seconds_bucket{generator="orders",`+
				`op="renew",result="error",`+line)
		}
		if strings.Contains(text, "secret") {
			t.Error("an error's text is a label")
		}
	})
}

func TestSegments(t *testing.T) {
	reg, scrape := newRegistry(t)
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
	ofOne := func() []segment.Health { return []segment.Health{one.Health()} }
	for _, health := range []func() []segment.Health{ofOne, set.Health, set.Health} {
		if err := metrics.RegisterSegments(reg, health); err != nil {
			t.Fatal(err)
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
		`unalike_segment_issued_total{tag="c"} 1`, // that of the sequence, which came before the set
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
	g := coretest.New(t)
	_, noRegisterer := metrics.RegisterServer(nil)
	if _, err := metrics.RegisterServer(reg); err != nil {
		t.Fatal(err)
	}
	if _, err := metrics.RegisterServer(reg); err == nil {
		t.Error("two servers are shown in one registry")
	}
	for what, err := range map[string]error{
		"empty name":     metrics.Register(reg, "", g),
		"long name":      metrics.Register(reg, strings.Repeat("x", 129), g),
		"name not UTF-8": metrics.Register(reg, "\xff", g),
		"no generator":   metrics.Register(reg, "a", nil),
		"no set":         metrics.RegisterSegments(reg, nil),
		"no registerer":  errors.Join(noRegisterer, metrics.Register(nil, "a", g)),
	} {
		if !errors.Is(err, coord.ErrInvalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
