package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/safetytest"
	"github.com/unalike-id/unalike/segment"
	"github.com/unalike-id/unalike/segment/segmenttest"
	"github.com/unalike-id/unalike/server"
)

// numbersIn returns the strings in a field of a reply, and checks that they rise.
func numbersIn(t *testing.T, r reply, field string) []int64 {
	t.Helper()
	var v map[string][]string
	err := json.Unmarshal([]byte(r.body), &v)
	if err != nil || r.StatusCode != 200 || r.Header.Get("Content-Type") != "application/json" {
		t.Fatalf("%s %v: %v\n%s", r.Status, r.Header, err, r.body)
	}
	return rising(t, v[field])
}

func rising(t *testing.T, texts []string) (all []int64) {
	t.Helper()
	for _, text := range texts {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || len(all) > 0 && n <= all[len(all)-1] {
			safetytest.Unless(t, err).Fatalf("%q after %v: %v", text, all, err)
		}
		all = append(all, n)
	}
	return all
}

func TestIDs(t *testing.T) {
	r := serve(t, nil)
	var all []int64
	for _, method := range []string{"GET", "POST"} {
		for query, count := range map[string]int{
			"": 1, "?count=1": 1, "?count=3": 3, "?count=10000": 10_000, "?wait=2s": 1,
			"?count=2&wait=0s": 2,
		} {
			got := numbersIn(t, r.call(method, orders+query), "ids")
			plain := r.call(method, orders+query, "Accept: text/plain")
			texts := rising(t, strings.Fields(plain.body))
			if len(got) != count || len(texts) != count {
				t.Errorf("%s %q: %d IDs, and %d as text", method, query, len(got), len(texts))
			}
			h := plain.Header
			if h.Get("Content-Type") != "text/plain; charset=utf-8" || h.Get("Cache-Control") != "no-store" {
				t.Errorf("%s %q as text: %v", method, query, h)
			}
			all = append(append(all, got...), texts...)
		}
	}
	if !slices.IsSorted(all) || len(slices.Compact(slices.Clone(all))) != len(all) {
		safetytest.Of(t).Error("IDs come twice, or do not rise")
	}
}

func TestNumbers(t *testing.T) {
	r := serve(t, nil)
	const path = "/v1/sequences/a%2Fb/numbers"
	if got := numbersIn(t, r.call("POST", path+"?count=3"), "numbers"); !slices.Equal(got,
		[]int64{1, 2, 3}) {
		t.Errorf("got %v", got)
	}
	got := r.call("GET", path, "Accept: text/plain")
	if got.body != "4\n" || got.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("%v %q", got.Header, got.body)
	}
	got = r.call("GET", "/v1/sequences")
	if !strings.Contains(got.body, `{"tag":"a/b","ready":true,"left":`) ||
		!strings.Contains(got.body, `"issued":4`) {
		t.Error(got.body)
	}
}

// written are numbers of tags that have a format.
type written struct{ server.Numbers }

func (w written) FillText(ctx context.Context, tag string, dst []string) (int, error) {
	numbers := make([]int64, len(dst))
	n, err := w.Fill(ctx, tag, numbers)
	for i, v := range numbers[:n] {
		dst[i] = fmt.Sprintf("INV%04d", v)
	}
	return n, err
}

func (w written) FillTextOn(ctx context.Context, tag string, _ time.Time, dst []string,
) (int, error) {
	return w.FillText(ctx, tag, dst)
}

// TestTexts: numbers of a tag come in its format, where tags have formats.
func TestTexts(t *testing.T) {
	r := serve(t, nil)
	got := r.call("GET", "/v1/sequences/a%2Fb/texts")
	if got.StatusCode != http.StatusNotFound ||
		!strings.Contains(got.body, "no tag has a format here") {
		t.Errorf("without formats: %d %s", got.StatusCode, got.body)
	}
	tag := segment.Tag{Name: "t", Next: 1, Step: 1000}
	r.SetNumbers(written{numbers(t, segmenttest.NewFake(tag), segment.Config{})})
	for _, c := range []struct {
		path   string
		header []string
		status int
		want   string
	}{
		{"/v1/sequences/t/texts?count=2", nil, 200, `{"texts":["INV0001","INV0002"]}`},
		{"/v1/sequences/t/texts", []string{"Accept: text/plain"}, 200, "INV0003\n"},
		{"/v1/sequences/t/texts?count=257", nil, 400, "count is at most 256 here"},
		{"/v1/sequences/t/texts?count=x", nil, 400, "from 1 to"},
		{"/v1/sequences/none/texts", nil, 404, "there is no such tag"},
		{"/v1/sequences/t/texts?on=2026-02-30", nil, 400, "on is a single day from 2000-01-01 on"},
		{"/v1/sequences/t/texts?on=1999-12-31", nil, 400, "on is a single day from 2000-01-01 on"},
		{"/v1/sequences/t/texts?on=", nil, 400, "on is a single day from 2000-01-01 on"},
		{"/v1/sequences/t/texts?on=2026-01-01&on=2026-01-02", nil, 400, "on is a single day"},
		{"/v1/sequences/t/numbers?on=2026-01-01", nil, 400, `the parameter \"on\" is not known`},
	} {
		got := r.call("POST", c.path, c.header...)
		if got.StatusCode != c.status || !strings.Contains(got.body, c.want) {
			t.Errorf("%s: %d %s", c.path, got.StatusCode, got.body)
		}
	}
}

func TestReading(t *testing.T) {
	r := serve(t, nil)
	for path, want := range map[string]string{
		"/v1/generators/default/ids/1169805281349730335": `{"id":"1169805281349730335",` +
			`"time":"2019-09-06T02:51:27.661Z","worker_id":928,"sequence":31}` + "\n",
		"/v1/generators/default/layout": `{"layout":"41/10/12/1ms/2010-11-04T01:42:54.657Z",` +
			`"time_bits":41,"worker_bits":10,"sequence_bits":12,"unit":"1ms",` +
			`"epoch":"2010-11-04T01:42:54.657Z","expires":"2080-07-10T17:30:30.209Z",` +
			`"worker_ids":1024,"ids_per_second_and_worker_id":4096000}` + "\n",
	} {
		if got := r.call("GET", path); got.body != want {
			t.Errorf("%s: %s\nwant %s", path, got.body, want)
		}
	}
	want := `{"name":"default","ready":true,"layout":"` + core.TwitterLayout().String() +
		`","health":{`
	if got := r.call("GET", "/v1/generators"); !strings.Contains(got.body, want) {
		t.Error(got.body)
	}
}

// TestProblems: each mistake has its status, and a body that says what is allowed.
func TestProblems(t *testing.T) {
	r := serve(t, nil)
	for _, tt := range []struct {
		method, path string
		status       int
		want         string
	}{
		{"GET", orders + "?count=0", 400, "count is a single whole number from 1 to 10000"},
		{"GET", orders + "?count=99999999999999999999", 400, "from 1 to 10000"},
		{"GET", orders + "?count=01", 400, "from 1 to 10000"},
		{"GET", orders + "?count=", 400, "from 1 to 10000"},
		{"GET", orders + "?count=1&count=2", 400, "from 1 to 10000"},
		{"GET", orders + "?wait=2", 400, "wait is a single duration with a unit, from 0s to 30s"},
		{"GET", orders + "?wait=-1s", 400, "from 0s to 30s"},
		{"GET", orders + "?wait=31s", 400, "from 0s to 30s"},
		{"GET", orders + "?count=%zz", 400, "the query cannot be read"},
		{"GET", "/v1/sequences/a%2Fb/numbers?count=5;wait=1s", 400, "the query cannot be read"},
		{"HEAD", orders, 405, ""},
		{"DELETE", orders, 405, "allowed are GET, POST"},
		{"POST", "/v1/generators", 405, "allowed are GET, HEAD"},
		{"GET", "/v1/generators/none/ids", 404, "there is no such generator; known are: default, orders"},
		{"GET", "/v1/generators/none/layout", 404, "known are: default, orders"},
		{"GET", "/v1/generators/orders/ids/x", 400, "an ID is a whole number"},
		{"GET", "/v1/sequences/none/numbers", 404, "there is no such tag"},
		{"GET", "/v1/sequences/%FF/numbers", 400, "a tag is 1 to 128 characters"},
		{"GET", "/v1/sequences/a%2Fb/numbers?count=x", 400, "from 1 to 10000"},
		{"GET", "/v1", 404, "there is no such page"},
		{"GET", "/%2e%2e/%2e%2e/etc/passwd", 404, "there is no such page"},
	} {
		got := r.call(tt.method, tt.path)
		kind := got.Header.Get("Content-Type")
		if got.StatusCode != tt.status || !strings.Contains(got.body, tt.want) ||
			kind != "application/problem+json" {
			t.Errorf("%s %s: %s %s %s\nwant %d with %s", tt.method, tt.path, got.Status, kind, got.body,
				tt.status, tt.want)
		}
		if tt.status == 405 && got.Header.Get("Allow") == "" {
			t.Errorf("%s %s: no Allow", tt.method, tt.path)
		}
	}
	if r.log.Len() > 0 {
		t.Errorf("what callers do wrong is in the log:\n%s", r.log)
	}
}

// TestNotReady: an outage is 503 with the time after which to ask again, and the pages for probes
// follow it.
func TestNotReady(t *testing.T) {
	f := coordtest.NewFake(coordtest.FakeConfig{})
	g := startLate(t, f, coordtest.ErrUnreachable)
	r := serve(t, func(c *server.Config) { c.Generators["late"] = g })
	const ids = "/v1/generators/late/ids"
	want := func(path string, status int, says string) {
		t.Helper()
		if got := r.call("GET", path); got.StatusCode != status || !strings.Contains(got.body, says) {
			t.Errorf("%s: %s %s", path, got.Status, got.body)
		}
	}
	for _, query := range []string{"", "?count=2", "?wait=10ms", "?count=2&wait=10ms"} {
		want(ids+query, 503, "core: generator not started yet")
		if after := r.call("GET", ids+query).Header.Get("Retry-After"); after != "1" {
			t.Errorf("%q: Retry-After is %q", query, after)
		}
	}
	want("/readyz", 503, "generator late: core: generator not started yet")
	want("/healthz", 200, "")
	f.Recover()
	want(ids+"?wait=30s", 200, `{"ids":["`)
	want("/readyz", 200, "")
	r.Drain()
	want("/readyz", 503, "stopping\n")
	want(ids, 200, "")
}

// TestNoStore: without a store there are no tags, and with one that has not answered they may come,
// and the server is not ready.
func TestNoStore(t *testing.T) {
	opens := func(context.Context) (server.Numbers, error) { return nil, errors.New("never called") }
	for _, tt := range []struct {
		cfg         server.Config
		list, ready int
	}{{server.Config{}, 404, 200}, {server.Config{Numbers: opens}, 503, 503}} {
		s, err := server.New(tt.cfg)
		if err != nil {
			t.Fatal(err)
		}
		for page, want := range map[string]int{
			"/v1/sequences": tt.list, "/readyz": tt.ready, "/healthz": 200,
		} {
			if got := direct(t, s, page); got != want {
				t.Errorf("%s: %d, want %d", page, got, want)
			}
		}
	}
}

// TestStoreAway: while the store gives no numbers and none are left, the server is not ready, also
// for gRPC. It is again by itself when the store is back.
func TestStoreAway(t *testing.T) {
	tag := segment.Tag{Name: "t", Next: 1, Step: 2}
	store := segmenttest.NewFake(tag, segment.Tag{Name: "unused", Next: 1, Step: 2})
	r := serve(t, nil)
	r.SetNumbers(numbers(t, store, segment.Config{Logger: slog.New(slog.DiscardHandler), MaxStep: 2}))
	health := grpc_health_v1.NewHealthClient(r.dialGRPC())
	check := func(status int, state grpc_health_v1.HealthCheckResponse_ServingStatus) (why string) {
		t.Helper()
		page := r.call("GET", "/readyz")
		got, err := health.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{})
		if page.StatusCode != status || err != nil || got.Status != state {
			t.Errorf("/readyz: %s %s; gRPC: %v, %v; want %v", page.Status, page.body, got, err, state)
		}
		return page.body
	}
	check(http.StatusOK, serving)
	down := func(context.Context, string, string, func() error) error { return errors.New("down") }
	store.Intercept(down)
	if got := r.call("POST",
		"/v1/sequences/t/numbers"); got.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("numbers: %s %s", got.Status, got.body)
	}
	why := check(http.StatusServiceUnavailable, notServing)
	if !strings.HasPrefix(why, "store: ") || !strings.Contains(why, "down") {
		t.Errorf("the reason is %q", why)
	}
	store.Intercept(nil)
	r.eventually("the server is ready", func() bool { // nobody asks for numbers
		return direct(t, r.Server, "/readyz") == http.StatusOK
	})
	check(http.StatusOK, serving)
}

func TestBadConfig(t *testing.T) {
	f := coordtest.NewFake(coordtest.FakeConfig{})
	g := generator(t, f, core.DefaultLayout())
	for want, cfg := range map[string]server.Config{
		"MaxCount is -1":       {MaxCount: -1},
		"MaxCount is 100001":   {MaxCount: 100_001},
		"MaxReplyBytes is 1;":  {MaxReplyBytes: 1},
		"MaxWatches is -1":     {MaxWatches: -1},
		`AccessLog is "some"`:  {AccessLog: "some"},
		"MaxWait is 2h0m0s":    {MaxWait: 2 * time.Hour},
		`name "" is not`:       {Generators: map[string]*core.Generator{"": g}},
		`name "a/b" is not`:    {Generators: map[string]*core.Generator{"a/b": g}},
		`generator "a" is nil`: {Generators: map[string]*core.Generator{"a": nil}},
		"give it the layout tw": {
			Generators: map[string]*core.Generator{"default": g},
			Leaf:       server.Leaf{Enabled: true},
		},
	} {
		if _, err := server.New(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestLeaf: what Leaf's clients see.
func TestLeaf(t *testing.T) {
	r := serve(t, nil)
	for _, method := range []string{"GET", "POST", "PUT"} {
		for _, key := range []string{"any", "default"} {
			got := r.call(method, "/api/snowflake/get/"+key)
			id, err := core.ParseID(got.body)
			if err != nil || core.TwitterLayout().Decompose(id).Time.Year() < 2024 ||
				got.Header.Get("Cache-Control") != "no-store" {
				t.Errorf("%s: %v %q: %v", method, got.Header, got.body, err)
			}
		}
	}
	const (
		exception = `"message":"Result{id=-2, status=EXCEPTION}"`
		known     = `{"timestamp":"1567733700834(2019-09-06 ` +
			`01:35:00.834)","sequenceId":"3448","workerId":"39"}` + "\n"
	)
	id, err := core.TwitterLayout().Compose(time.UnixMilli(1567733700834), 39, 3448)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		method, path string
		status       int
		says         string
	}{
		{"GET", "/api/segment/get/a%2Fb", 200, "1"},
		{"GET", "/api/segment/get/none", 500, exception},
		{"GET", "/api/snowflake/get/orders", 500, exception}, // which has another layout
		{"POST", "/api/snowflake/get/any/", 200, ""},
		{"POST", "/api/segment/get/a%2Fb/", 200, "2"},
		{"POST", "/decodeSnowflakeId/?snowflakeId=1", 200, ""},
		{"POST", "/cache/", 200, ""},
		{"POST", "/db/", 200, ""},
		{"GET", "/decodeSnowflakeId", 400, ""},
		{"GET", "/decodeSnowflakeId?snowflakeId=" + id.String(), 200, known},
		{"GET", "/decodeSnowflakeId?snowflakeId=", 200, `{"errorMsg":"`},
		{"GET", "/decodeSnowflakeId?snowflakeId=x", 200, `{"errorMsg":"`},
		{"GET", "/decodeSnowflakeId?snowflakeId=-1", 200, `{"errorMsg":"`},
		{"GET", "/decodeSnowflakeId?snowflakeId=9223372036854775808", 200, `{"errorMsg":"`},
	} {
		if got := r.call(tt.method, tt.path); got.StatusCode != tt.status ||
			!strings.Contains(got.body, tt.says) {
			t.Errorf("%s %s: %s %s", tt.method, tt.path, got.Status, got.body)
		}
	}
	if strings.Contains(r.log.String(), "a request failed") {
		t.Errorf("what Leaf answers to an unknown key is in the log:\n%s", r.log)
	}
	for path, want := range map[string][2]string{
		"/cache": {
			"name init next pos value0 max0 step0 value1 max1 step1",
			"a/b true false 0 3 101 100 0 0 100",
		},
		"/db": {"tag max step update description", "a/b 101 100  &lt;b&gt;"},
	} {
		head, rows := tableOf(r.call("GET", path).body, strings.TrimPrefix(path, "/"))
		if head != want[0] || len(rows) != 1 || rows[0] != want[1] {
			t.Errorf("%s: %q %q\nwant %q", path, head, rows, want)
		}
	}
	off := serve(t, func(c *server.Config) { c.Leaf.Enabled = false })
	if got := off.call("GET", "/api/snowflake/get/any"); got.StatusCode != http.StatusNotFound {
		t.Errorf("turned off: %s", got.Status)
	}
}
