package server_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/safetytest"
	unalikev1 "github.com/unalike-id/unalike/proto/unalike/v1"
	"github.com/unalike-id/unalike/proto/unalike/v1/unalikev1connect"
	"github.com/unalike-id/unalike/segment"
	"github.com/unalike-id/unalike/segment/segmenttest"
	"github.com/unalike-id/unalike/server"
)

// narrow has no worker ID: the last ID of a tick and the first one of the next follow one another.
var narrow = core.Layout{
	Epoch: core.DefaultLayout().Epoch, Unit: time.Millisecond, TimeBits: 45,
	SequenceBits: 6,
}

// idsOf unpacks runs, and checks that none leaves its tick.
func idsOf(t *testing.T, runs []*unalikev1.Run, l core.Layout) []core.ID {
	t.Helper()
	var ids []core.ID
	for _, run := range runs {
		first, last := l.Decompose(core.ID(run.First)),
			l.Decompose(core.ID(run.First+uint64(run.Count)-1))
		if run.Count < 1 || first.WorkerID != last.WorkerID || !first.Time.Equal(last.Time) {
			t.Fatalf("a run of %d from %d goes from %+v to %+v", run.Count, run.First, first, last)
		}
		for i := range run.Count {
			ids = append(ids, core.ID(run.First+uint64(i)))
		}
	}
	return ids
}

// TestRPCGenerate: every protocol has IDs, each of them once, in runs that end with their ticks.
func TestRPCGenerate(t *testing.T) {
	r := serve(t, func(c *server.Config) {
		c.Generators["narrow"] = generatorOn(t, newNamespace("n1"), narrow)
	})
	page := r.listen()
	seen := map[string]map[core.ID]bool{"narrow": {}, "orders": {}, "default": {}}
	layouts := map[string]core.Layout{
		"narrow": narrow, "orders": core.DefaultLayout(),
		"default": core.TwitterLayout(),
	}
	for protocol, options := range protocols {
		c := r.service(page.URL, "", options...)
		for name, layout := range layouts {
			for _, count := range []uint32{0, 1, 100, 2000} {
				resp, err := c.Generate(t.Context(), &unalikev1.GenerateRequest{Generator: name, Count: count})
				if err != nil {
					t.Fatalf("%s, %q: %v", protocol, name, err)
				}
				ids := idsOf(t, resp.Runs, layout)
				nonce := map[string]string{"narrow": "n1"}[name]
				if len(ids) != int(max(count, 1)) || resp.Layout != layout.String() ||
					resp.NamespaceNonce != nonce {
					t.Errorf("%s, %q: %d IDs of %d, layout %s, nonce %q", protocol, name, len(ids), count,
						resp.Layout, resp.NamespaceNonce)
				}
				for _, id := range ids {
					if seen[name][id] {
						safetytest.Of(t).Fatalf("%s, %q: %v twice", protocol, name, id)
					}
					seen[name][id] = true
				}
			}
		}
	}
}

// TestRPCNumbers: numbers of a tag come packed into runs, each of which ends where others have
// taken numbers.
func TestRPCNumbers(t *testing.T) {
	const apart = 1_000_000 // where segments begin
	store := segmenttest.NewFake(segment.Tag{Name: "x", Next: 1, Step: 10})
	var takes atomic.Int64
	store.Intercept(func(_ context.Context, op, _ string, do func() error) error {
		if op == "take" {
			store.Set("x", apart*takes.Add(1))
		}
		return do()
	})
	r := serve(t, nil)
	r.SetNumbers(numbers(t, store, segment.Config{}))
	c := r.service(r.listen().URL, "")
	ends, last := 0, int64(0)
	for _, count := range []uint32{0, 250, 250, 250, 250} {
		req := &unalikev1.NumbersRequest{
			Tag: "x", Count: count, MaxWait: durationpb.New(30 * time.Second),
		}
		resp, err := c.Numbers(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, run := range resp.Runs {
			end := run.First + int64(run.Count) - 1
			if run.First <= last || run.First/apart != end/apart || end%apart > apart/2 {
				safetytest.Of(t).Fatalf("a run of %d from %d, after %d", run.Count, run.First, last)
			}
			last, n = end, n+int(run.Count)
		}
		if n != int(max(count, 1)) {
			safetytest.Of(t).Errorf("%d numbers of %d", n, count)
		}
		ends += len(resp.Runs) - 1
	}
	if ends == 0 {
		t.Error("no run has ended, so that nothing was tried")
	}
}

// TestRPCReading: Decode and Layout say what the pages say.
func TestRPCReading(t *testing.T) {
	r := serve(t, func(c *server.Config) {
		c.Generators["orders"] = generatorOn(t, newNamespace("n1"), core.DefaultLayout())
	})
	c, l := r.service(r.listen().URL, ""), core.DefaultLayout()
	at := l.Epoch.Add(5 * time.Second)
	id, err := l.Compose(at, 7, 9)
	if err != nil {
		t.Fatal(err)
	}
	parts, err := c.Decode(t.Context(), &unalikev1.DecodeRequest{Generator: "orders", Id: uint64(id)})
	if err != nil || !parts.Time.AsTime().Equal(at) || parts.WorkerId != 7 || parts.Sequence != 9 {
		t.Errorf("%v, %v", parts, err)
	}
	about, err := c.Layout(t.Context(), &unalikev1.LayoutRequest{Generator: "orders"})
	if err != nil || about.Layout != l.String() || about.NamespaceNonce != "n1" ||
		about.TimeBits != 41 || about.WorkerBits != 10 || about.SequenceBits != 12 ||
		about.Unit.AsDuration() != l.Unit ||
		!about.Epoch.AsTime().Equal(l.Epoch) || !about.Expires.AsTime().Equal(l.Expires()) {
		t.Errorf("%v, %v", about, err)
	}
}

// asks is a call that gives an error.
type asks func(unalikev1connect.IDServiceClient) error

// TestRPCProblems: the codes are those of the problems, in every protocol.
func TestRPCProblems(t *testing.T) {
	notOpen := startLate(t, coordtest.NewFake(coordtest.FakeConfig{}), coordtest.ErrUnreachable)
	r := serve(t, func(c *server.Config) { c.Generators["late"] = notOpen })
	page := r.listen()
	generate := func(name string, count uint32, wait time.Duration) asks {
		return func(c unalikev1connect.IDServiceClient) error {
			req := &unalikev1.GenerateRequest{Generator: name, Count: count, MaxWait: durationpb.New(wait)}
			_, err := c.Generate(t.Context(), req)
			return err
		}
	}
	numbers := func(tag string) asks {
		return func(c unalikev1connect.IDServiceClient) error {
			_, err := c.Numbers(t.Context(), &unalikev1.NumbersRequest{Tag: tag})
			return err
		}
	}
	decode := func(c unalikev1connect.IDServiceClient) error {
		_, err := c.Decode(t.Context(), &unalikev1.DecodeRequest{Generator: "orders", Id: 1 << 63})
		return err
	}
	layout := func(c unalikev1connect.IDServiceClient) error {
		_, err := c.Layout(t.Context(), &unalikev1.LayoutRequest{Generator: "none"})
		return err
	}
	for name, tt := range map[string]struct {
		ask  asks
		code connect.Code
		text string
	}{
		"count": {
			generate("orders", 10_001, 0), connect.CodeInvalidArgument,
			"count is 10001; 1 to 10000 are allowed",
		},
		"wait": {
			generate("orders", 1, 31*time.Second), connect.CodeInvalidArgument,
			"from 0s to 30s",
		},
		"which": {
			generate("", 1, 0), connect.CodeInvalidArgument,
			"missing; known are: default, late, orders",
		},
		"unknown": {generate("none", 1, 0), connect.CodeNotFound, "known are: default, late, orders"},
		"not ready": {
			generate("late", 1, 0), connect.CodeUnavailable,
			"core: generator not started yet",
		},
		"large ID":   {decode, connect.CodeInvalidArgument, "IDs from 0 to"},
		"no layout":  {layout, connect.CodeNotFound, "known are"},
		"no tag":     {numbers("none"), connect.CodeNotFound, "there is no such tag"},
		"large body": {numbers(strings.Repeat("x", 65<<10)), connect.CodeResourceExhausted, ""},
	} {
		for protocol, options := range protocols {
			err := tt.ask(r.service(page.URL, "", options...))
			if connect.CodeOf(err) != tt.code || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("%s, %s: %v; want %v: %s", protocol, name, err, tt.code, tt.text)
			}
			ce, ok := errors.AsType[*connect.Error](err)
			if tt.code == connect.CodeUnavailable && (!ok || ce.Meta().Get("Retry-After") != "1") {
				t.Errorf("%s, %s: Retry-After is missing", protocol, name)
			}
		}
	}
}

// TestRPCRights: what a token may do is the same over RPC, and so is who sees why.
func TestRPCRights(t *testing.T) {
	notOpen := startLate(t, coordtest.NewFake(coordtest.FakeConfig{}),
		errors.New("secret-host refuses"))
	r := serve(t, func(c *server.Config) {
		withTokens(t)(c)
		c.Generators["late"] = notOpen
	})
	page := r.listen()
	for protocol, options := range protocols {
		for token, want := range map[string]struct{ generate, watch connect.Code }{
			"":                   {connect.CodeUnauthenticated, connect.CodeUnauthenticated},
			"wrong-0123456789ab": {connect.CodeUnauthenticated, connect.CodeUnauthenticated},
			generates:            {0, connect.CodePermissionDenied},
			operates:             {0, 0},
		} {
			c := r.service(page.URL, token, options...)
			_, err := c.Generate(t.Context(), generateOne("orders"))
			wantCode(t, protocol+" Generate "+token, err, want.generate)
			stream, err := c.Watch(t.Context(), &unalikev1.WatchRequest{Generator: "orders"})
			if err == nil {
				if !stream.Receive() {
					err = stream.Err()
				}
				_ = stream.Close()
			}
			wantCode(t, protocol+" Watch "+token, err, want.watch)
			_, err = c.Generate(t.Context(), generateOne("late"))
			if shown := err != nil &&
				strings.Contains(err.Error(), "secret-host"); shown != (token == operates) {
				t.Errorf("%s, %q: %v", protocol, token, err)
			}
		}
	}
}

// wantCode checks the code of an error; 0 is none.
func wantCode(t *testing.T, what string, err error, want connect.Code) {
	t.Helper()
	if err == nil && want == 0 {
		return
	}
	if err == nil || connect.CodeOf(err) != want {
		t.Errorf("%s: %v; want %v", what, err, want)
	}
}

// TestRPCNonce: there are no IDs while the nonce is not known, it is asked for once, and again when
// that is wanted.
func TestRPCNonce(t *testing.T) {
	n := newNamespace("n1")
	away := errors.New("secret-host refuses")
	n.failed.Store(&away)
	r := serve(t, func(c *server.Config) {
		withTokens(t)(c)
		c.Generators["orders"] = generatorOn(t, n, core.DefaultLayout())
	})
	c := r.service(r.listen().URL, generates)
	generate := func() (string, error) {
		resp, err := c.Generate(t.Context(), generateOne("orders"))
		return resp.GetNamespaceNonce(), err
	}
	if _, err := generate(); connect.CodeOf(err) != connect.CodeUnavailable ||
		strings.Contains(err.Error(), "secret") {
		t.Errorf("while nobody knows the nonce: %v", err)
	}
	if err := r.ReadNamespaces(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "generator orders: secret-host refuses") {
		t.Errorf("ReadNamespaces: %v", err)
	}
	n.failed.Store(nil)
	n.now.Store(new(coord.Namespace))
	if _, err := generate(); connect.CodeOf(err) != connect.CodeUnavailable {
		t.Errorf("without a namespace: %v", err)
	}
	n.now.Store(&coord.Namespace{Layout: "x", Nonce: "n2"})
	before := n.asked.Load()
	for range 3 {
		if got, err := generate(); got != "n2" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	}
	if asked := n.asked.Load() - before; asked != 1 {
		t.Errorf("asked %d times", asked)
	}
	n.now.Store(&coord.Namespace{Layout: "x", Nonce: "n3"})
	if err := r.ReadNamespaces(t.Context()); err != nil {
		t.Error(err)
	}
	n.failed.Store(&away)
	if err := r.ReadNamespaces(t.Context()); err == nil {
		t.Error("ReadNamespaces passes an error over")
	}
	if got, err := generate(); got != "n3" || err != nil {
		t.Errorf("made again: %q, %v", got, err)
	}
}

// TestRPCNonceHangs: a call has the nonce while the coordinator does not answer those who read it
// beside the calls.
func TestRPCNonceHangs(t *testing.T) {
	n := hanging{newNamespace("n1")}
	r := serve(t, func(c *server.Config) {
		c.Generators["orders"] = generatorOn(t, n, core.DefaultLayout())
	})
	read := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { read <- r.ReadNamespaces(ctx) }()
	r.eventually("the namespace is read", func() bool { return n.asked.Load() == 1 })
	resp, err := r.service(r.listen().URL, "").Generate(t.Context(), generateOne("orders"))
	if err != nil || resp.GetNamespaceNonce() != "n1" {
		t.Errorf("%v, %v", resp, err)
	}
	select {
	case err := <-read:
		t.Errorf("the call waited until the reading ended: %v", err)
	default:
	}
}

// hanging is a namespace whose coordinator does not answer the first question.
type hanging struct{ *namespace }

func (h hanging) Inspect(ctx context.Context) (coord.Namespace, error) {
	if h.asked.Add(1) == 1 {
		<-ctx.Done()
		return coord.Namespace{}, ctx.Err()
	}
	return *h.now.Load(), nil
}

// TestRPCWire: what curl sends and reads. No answer may be stored, and nothing can be had with GET.
func TestRPCWire(t *testing.T) {
	r := serve(t, nil)
	const generate = "/unalike.v1.IDService/Generate"
	for _, tt := range []struct {
		method, path, body string
		status             int
		has                string
	}{
		{"POST", generate, `{"generator":"orders","count":3,"maxWait":"2s"}`, 200, `"runs":[{"first":"`},
		{"POST", generate, `{"count":"many"}`, 400, `"code":"invalid_argument"`},
		{"POST", generate, strings.Repeat(" ", 65<<10), 429, `"code":"resource_exhausted"`},
		{"GET", generate, "", 405, ""},
		{"GET", generate + "?encoding=json&message=%7B%7D", "", 405, ""},
		{"PUT", generate, "{}", 405, ""},
		{"POST", "/unalike.v1.IDService/None", "{}", 404, "there is no such page"},
		{"POST", "/grpc.health.v1.Health/Check", "{}", 200, "SERVING"},
	} {
		got := r.send(tt.method, r.http.URL+tt.path, strings.NewReader(tt.body),
			"Content-Type: application/json")
		if got.StatusCode != tt.status || !strings.Contains(got.body, tt.has) ||
			got.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s %s %.40s: %s %v %s", tt.method, tt.path, tt.body, got.Status, got.Header, got.body)
		}
	}
	got := r.post(generate, "{}", "Host: evil.example")
	if got.StatusCode != 403 || !strings.Contains(got.body, "permission_denied") {
		t.Errorf("a foreign Host: %s %s", got.Status, got.body)
	}
}
