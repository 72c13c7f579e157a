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
	"github.com/unalike-id/unalike/segment"
	"github.com/unalike-id/unalike/segment/segmenttest"
	"github.com/unalike-id/unalike/server"
)

// numbersIn returns the strings in a field of a reply, and checks that they rise.
func numbersIn(t *testing.T, r reply, field string) []int64 {
	t.Helper()
	var v map[string][]string
	if err := json.Unmarshal([]byte(r.body), &v); err != nil || r.StatusCode != 200 || r.Header.Get("Content-Type") != "application/json" {
		t.Fatalf("%s %v: %v\n%s", r.Status, r.Header, err, r.body)
	}
	return rising(t, v[field])
}

func rising(t *testing.T, texts []string) (all []int64) {
	t.Helper()
	for _, text := range texts {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || len(all) > 0 && n <= all[len(all)-1] {
			t.Fatalf("%q after %v: %v", text, all, err)
		}
		all = append(all, n)
	}
	return all
}

func TestIDs(t *testing.T) {
	r := serve(t, nil)
	var all []int64
	for _, method := range []string{"GET", "POST"} {
		for _, tt := range []struct {
			query string
			count int
		}{{"", 1}, {"?count=1", 1}, {"?count=3", 3}, {"?count=10000", 10_000}, {"?wait=2s", 1}, {"?count=2&wait=0s", 2}} {
			got := numbersIn(t, r.call(method, "/v1/generators/orders/ids"+tt.query), "ids")
			if len(got) != tt.count {
				t.Errorf("%s %q: %d IDs", method, tt.query, len(got))
			}
			all = append(all, got...)
			plain := r.call(method, "/v1/generators/orders/ids"+tt.query, "Accept: text/plain")
			got = rising(t, strings.Split(strings.TrimSuffix(plain.body, "\n"), "\n"))
			if len(got) != tt.count || plain.Header.Get("Content-Type") != "text/plain; charset=utf-8" {
				t.Errorf("%s %q as text: %d IDs, %v", method, tt.query, len(got), plain.Header)
			}
			if plain.Header.Get("Cache-Control") != "no-store" {
				t.Errorf("IDs may be cached: %v", plain.Header)
			}
			all = append(all, got...)
		}
	}
	if !slices.IsSorted(all) || len(slices.Compact(slices.Clone(all))) != len(all) {
		t.Error("IDs come twice, or do not rise")
	}
}

func TestNumbers(t *testing.T) {
	r := serve(t, nil)
	if got := numbersIn(t, r.call("POST", "/v1/sequences/a%2Fb/numbers?count=3"), "numbers"); !slices.Equal(got, []int64{1, 2, 3}) {
		t.Errorf("got %v", got)
	}
	if got := r.call("GET", "/v1/sequences/a%2Fb/numbers", "Accept: text/plain"); got.body != "4\n" || got.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("%v %q", got.Header, got.body)
	}
	if got := r.call("GET", "/v1/sequences"); !strings.Contains(got.body, `{"tag":"a/b","ready":true,"left":`) || !strings.Contains(got.body, `"issued":4`) {
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

// TestTexts: numbers of a tag come in its format, where tags have formats.
func TestTexts(t *testing.T) {
	r := serve(t, nil)
	if got := r.call("GET", "/v1/sequences/a%2Fb/texts"); got.StatusCode != http.StatusNotFound || !strings.Contains(got.body, "no tag has a format here") {
		t.Errorf("without formats: %d %s", got.StatusCode, got.body)
	}
	set, err := segment.NewSet(t.Context(), segmenttest.NewFake(segment.Tag{Name: "t", Next: 1, Step: 1000}), segment.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close(context.Background())
	r.Sequences(written{set})
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
		"/v1/generators/default/ids/1169805281349730335": `{"id":"1169805281349730335","time":"2019-09-06T02:51:27.661Z","worker_id":928,"sequence":31}` + "\n",
		"/v1/generators/default/layout": `{"layout":"41/10/12/1ms/2010-11-04T01:42:54.657Z","time_bits":41,"worker_bits":10,"sequence_bits":12,"unit":"1ms",` +
			`"epoch":"2010-11-04T01:42:54.657Z","expires":"2080-07-10T17:30:30.209Z","worker_ids":1024,"ids_per_second_and_worker_id":4096000}` + "\n",
	} {
		if got := r.call("GET", path); got.body != want {
			t.Errorf("%s: %s\nwant %s", path, got.body, want)
		}
	}
	if got := r.call("GET", "/v1/generators"); !strings.Contains(got.body, `{"name":"default","ready":true,"layout":"41/10/12/1ms/2010-11-04T01:42:54.657Z","health":{`) {
		t.Error(got.body)
	}
}

// TestProblems: each mistake has its status, and a body that says what is allowed.
func TestProblems(t *testing.T) {
	r := serve(t, nil)
	const ids = "/v1/generators/orders/ids"
	for _, tt := range []struct {
		method, path string
		status       int
		want         string
	}{
		{"GET", ids + "?count=0", 400, "count is a single whole number from 1 to 10000"},
		{"GET", ids + "?count=10001", 400, "from 1 to 10000"},
		{"GET", ids + "?count=99999999999999999999", 400, "from 1 to 10000"},
		{"GET", ids + "?count=01", 400, "from 1 to 10000"},
		{"GET", ids + "?count=", 400, "from 1 to 10000"},
		{"GET", ids + "?count=1&count=2", 400, "from 1 to 10000"},
		{"GET", ids + "?wait=2", 400, "wait is a single duration with a unit, from 0s to 30s"},
		{"GET", ids + "?wait=-1s", 400, "from 0s to 30s"},
		{"GET", ids + "?wait=31s", 400, "from 0s to 30s"},
		{"HEAD", ids, 405, ""},
		{"DELETE", ids, 405, "allowed are GET, POST"},
		{"POST", "/v1/generators", 405, "allowed are GET, HEAD"},
		{"GET", "/v1/generators/none/ids", 404, "there is no such generator; known are: default, orders"},
		{"GET", "/v1/generators/none/layout", 404, "known are: default, orders"},
		{"GET", "/v1/generators/orders/ids/x", 400, "an ID is a whole number"},
		{"GET", "/v1/generators/orders/ids/-1", 400, "an ID is a whole number"},
		{"GET", "/v1/sequences/none/numbers", 404, "there is no such tag"},
		{"GET", "/v1/sequences/%FF/numbers", 400, "a tag is 1 to 128 characters"},
		{"GET", "/v1/sequences/a%2Fb/numbers?count=x", 400, "from 1 to 10000"},
		{"GET", "/v1", 404, "there is no such page"},
		{"GET", "/%2e%2e/%2e%2e/etc/passwd", 404, "there is no such page"},
		{"GET", "/metrics", 404, "there is no such page"},
	} {
		got := r.call(tt.method, tt.path)
		if got.StatusCode != tt.status || !strings.Contains(got.body, tt.want) || got.Header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s %s: %s %s %s\nwant %d with %s", tt.method, tt.path, got.Status, got.Header.Get("Content-Type"), got.body, tt.status, tt.want)
		}
		if tt.status == 405 && got.Header.Get("Allow") == "" {
			t.Errorf("%s %s: no Allow", tt.method, tt.path)
		}
	}
	if r.log.Len() > 0 {
		t.Errorf("what callers do wrong is in the log:\n%s", r.log)
	}
}

// TestNotReady: an outage is 503 with the time after which to ask again, and the pages for probes follow it.
func TestNotReady(t *testing.T) {
	f := coordtest.NewFake(coordtest.FakeConfig{})
	f.Fail(coordtest.Acquire, coordtest.ErrUnreachable, coordtest.Forever)
	g, err := core.Start(f.Client(), core.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	r := serve(t, func(c *server.Config) { c.Generators["late"] = g })
	defer func() { _ = g.Close(t.Context()) }()
	for _, query := range []string{"", "?count=2", "?wait=10ms", "?count=2&wait=10ms"} {
		got := r.call("GET", "/v1/generators/late/ids"+query)
		if got.StatusCode != 503 || got.Header.Get("Retry-After") != "1" || !strings.Contains(got.body, "core: generator not started yet") {
			t.Errorf("%q: %s %v %s", query, got.Status, got.Header, got.body)
		}
	}
	if got := r.call("GET", "/readyz"); got.StatusCode != 503 || !strings.HasPrefix(got.body, "generator late: core: generator not started yet") {
		t.Errorf("%s %s", got.Status, got.body)
	}
	if got := r.call("GET", "/healthz"); got.StatusCode != 200 {
		t.Errorf("%s %s", got.Status, got.body)
	}
	f.Heal()
	if got := numbersIn(t, r.call("GET", "/v1/generators/late/ids?wait=30s"), "ids"); len(got) != 1 {
		t.Error("a request that waits gets no ID")
	}
	if got := r.call("GET", "/readyz"); got.StatusCode != 200 {
		t.Errorf("%s %s", got.Status, got.body)
	}
	r.Drain()
	if got := r.call("GET", "/readyz"); got.StatusCode != 503 || got.body != "stopping\n" {
		t.Errorf("%s %s", got.Status, got.body)
	}
	numbersIn(t, r.call("GET", "/v1/generators/late/ids"), "ids")
}

// TestNoStore: without a store there are no tags, and with one that has not answered they may come, and the server is
// not ready.
func TestNoStore(t *testing.T) {
	s, err := server.New(server.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct{ list, ready int }{{404, 200}, {503, 503}} {
		for page, want := range map[string]int{"/v1/sequences": want.list, "/readyz": want.ready, "/healthz": 200} {
			if got := direct(t, s, page); got != want {
				t.Errorf("%s: %d, want %d", page, got, want)
			}
		}
		s.Sequences(nil)
	}
}

// TestStoreAway: while the store gives no numbers and none are left, the server is not ready, also for gRPC. It is again
// by itself when the store is back.
func TestStoreAway(t *testing.T) {
	store := segmenttest.NewFake(segment.Tag{Name: "t", Next: 1, Step: 2}, segment.Tag{Name: "unused", Next: 1, Step: 2})
	set, err := segment.NewSet(t.Context(), store, segment.Config{Logger: slog.New(slog.DiscardHandler), MaxStep: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = set.Close(context.Background()) })
	r := serve(t, nil)
	r.Sequences(set)
	health := grpc_health_v1.NewHealthClient(r.dialGRPC())
	check := func(status int, state grpc_health_v1.HealthCheckResponse_ServingStatus) {
		t.Helper()
		if got := r.call("GET", "/readyz"); got.StatusCode != status {
			t.Errorf("/readyz: %s %s", got.Status, got.body)
		}
		if got, err := health.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{}); err != nil || got.Status != state {
			t.Errorf("gRPC: %v, %v; want %v", got, err, state)
		}
	}
	check(http.StatusOK, serving)
	store.Intercept(func(context.Context, string, string, func() error) error { return errors.New("down") })
	if got := r.call("POST", "/v1/sequences/t/numbers"); got.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("numbers: %s %s", got.Status, got.body)
	}
	check(http.StatusServiceUnavailable, notServing)
	if got := r.call("GET", "/readyz"); !strings.HasPrefix(got.body, "store: ") || !strings.Contains(got.body, "down") {
		t.Errorf("the reason is %q", got.body)
	}
	store.Intercept(nil)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(time.Minute); direct(t, r.Server, "/readyz") != http.StatusOK; <-tick.C { // nobody asks for numbers
		if time.Now().After(end) {
			t.Fatal("the server does not become ready")
		}
	}
	check(http.StatusOK, serving)
}

func TestBadConfig(t *testing.T) {
	f := coordtest.NewFake(coordtest.FakeConfig{})
	g := generator(t, f, core.DefaultLayout())
	for want, cfg := range map[string]server.Config{
		"MaxCount is -1":        {MaxCount: -1},
		"MaxCount is 100001":    {MaxCount: 100_001},
		"MaxReplyBytes is 1;":   {MaxReplyBytes: 1},
		"MaxWatches is -1":      {MaxWatches: -1},
		`AccessLog is "some"`:   {AccessLog: "some"},
		"MaxWait is 2h0m0s":     {MaxWait: 2 * time.Hour},
		`name "" is not`:        {Generators: map[string]server.Generator{"": g}},
		`name "a/b" is not`:     {Generators: map[string]server.Generator{"a/b": g}},
		`generator "a" is nil`:  {Generators: map[string]server.Generator{"a": (*core.Generator)(nil)}},
		"give it the layout tw": {Generators: map[string]server.Generator{"default": g}, Leaf: server.Leaf{Enabled: true}},
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
			id, err := strconv.ParseInt(got.body, 10, 64)
			if err != nil || core.TwitterLayout().Decompose(core.ID(id)).Time.Year() < 2024 || got.Header.Get("Cache-Control") != "no-store" {
				t.Errorf("%s: %v %q: %v", method, got.Header, got.body, err)
			}
		}
	}
	if got := r.call("GET", "/api/segment/get/a%2Fb"); got.body != "1" {
		t.Errorf("%s %s", got.Status, got.body)
	}
	for _, path := range []string{"/api/segment/get/none", "/api/snowflake/get/orders"} { // orders has another layout
		if got := r.call("GET", path); got.StatusCode != 500 || !strings.Contains(got.body, `"status":500`) || !strings.Contains(got.body, `"message":"Result{id=-2, status=EXCEPTION}"`) {
			t.Errorf("%s: %s %s", path, got.Status, got.body)
		}
	}
	for _, path := range []string{"/api/snowflake/get/any/", "/api/segment/get/a%2Fb/", "/decodeSnowflakeId/?snowflakeId=1", "/cache/", "/db/"} {
		if got := r.call("POST", path); got.StatusCode != 200 {
			t.Errorf("POST %s: %s %s", path, got.Status, got.body)
		}
	}
	if got := r.call("GET", "/decodeSnowflakeId"); got.StatusCode != 400 {
		t.Errorf("without a parameter: %s %s", got.Status, got.body)
	}
	const known = `{"timestamp":"1567733700834(2019-09-06 01:35:00.834)","sequenceId":"3448","workerId":"39"}` + "\n"
	id, err := core.TwitterLayout().Compose(time.UnixMilli(1567733700834), 39, 3448)
	if err != nil {
		t.Fatal(err)
	}
	if got := r.call("GET", "/decodeSnowflakeId?snowflakeId="+id.String()); got.body != known {
		t.Errorf("%s", got.body)
	}
	for _, bad := range []string{"", "x", "-1", "9223372036854775808"} {
		if got := r.call("GET", "/decodeSnowflakeId?snowflakeId="+bad); got.StatusCode != 200 || !strings.HasPrefix(got.body, `{"errorMsg":"`) {
			t.Errorf("%q: %s %s", bad, got.Status, got.body)
		}
	}
	for path, want := range map[string][2]string{
		"/cache": {"name init next pos value0 max0 step0 value1 max1 step1", "a/b true false 0 3 101 100 0 0 100"},
		"/db":    {"tag max step update description", "a/b 101 100  &lt;b&gt;"},
	} {
		got := r.call("GET", path)
		if head, rows := tableOf(got.body, strings.TrimPrefix(path, "/")); head != want[0] || len(rows) != 1 || rows[0] != want[1] {
			t.Errorf("%s: %q %q\nwant %q", path, head, rows, want)
		}
	}
	off := serve(t, func(c *server.Config) { c.Leaf.Enabled = false })
	if got := off.call("GET", "/api/snowflake/get/any"); got.StatusCode != http.StatusNotFound {
		t.Errorf("turned off: %s", got.Status)
	}
}
