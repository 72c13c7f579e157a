package history

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/coord/etcd/embedded"
	"github.com/unalike-id/unalike/coord/static"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/lifetime"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/protocol/memstore"
)

// limit is for a search that does not end. None here takes long.
const limit = time.Minute

// recording makes recorded coordinators of one namespace, whose histories are checked when the
// test is over.
type recording struct {
	dir   string
	count atomic.Int64
}

func newRecording(tb testing.TB, calls *atomic.Int64) *recording {
	tb.Helper()
	r := &recording{dir: tb.TempDir()}
	tb.Cleanup(func() {
		out := r.check(tb)
		calls.Add(int64(out.Calls))
		for _, text := range out.Illegal {
			tb.Error(text)
		}
		if out.Undecided != nil {
			tb.Errorf("undecided: %v", out.Undecided)
		}
	})
	return r
}

func (r *recording) check(tb testing.TB) Outcome {
	tb.Helper()
	paths, err := filepath.Glob(filepath.Join(r.dir, "*"))
	if err != nil {
		tb.Fatal(err)
	}
	out, err := Check(paths, limit)
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

// record wraps a coordinator.
func (r *recording) record(tb testing.TB, c coord.Coordinator) coord.Coordinator {
	tb.Helper()
	recorded, err := Record(c, filepath.Join(r.dir, fmt.Sprint(r.count.Add(1))))
	if err != nil {
		tb.Fatal(err)
	}
	return recorded
}

// client wraps what a harness makes.
func (r *recording) client(f func(testing.TB, coord.Range) coord.Coordinator) func(testing.TB, coord.Range) coord.Coordinator {
	return func(tb testing.TB, share coord.Range) coord.Coordinator {
		tb.Helper()
		return r.record(tb, f(tb, share))
	}
}

// conformance runs the suite that holds drivers to the rules of package coord. The recorded
// coordinators must pass it, and their histories be legal.
func conformance(t *testing.T, harness func(tb testing.TB) coordtest.Harness) {
	t.Helper()
	var calls atomic.Int64
	coordtest.Run(t, func(tb testing.TB) coordtest.Harness {
		tb.Helper()
		own, other := newRecording(tb, &calls), newRecording(tb, &calls)
		h := harness(tb)
		h.Client = own.client(h.Client)
		h.OtherNamespace = other.client(h.OtherNamespace)
		return h
	})
	if calls.Load() < 100 {
		t.Errorf("%d calls were recorded", calls.Load())
	}
	t.Logf("%d calls", calls.Load())
}

func TestHistoriesOfStatic(t *testing.T) {
	conformance(t, func(tb testing.TB) coordtest.Harness {
		tb.Helper()
		client := func(namespace, state string) func(testing.TB, coord.Range) coord.Coordinator {
			return func(tb testing.TB, share coord.Range) coord.Coordinator {
				tb.Helper()
				c, err := static.New(share.First, static.Options{Namespace: namespace, State: state, Count: share.Count, AcceptFresh: true})
				if err != nil {
					tb.Fatal(err)
				}
				return c
			}
		}
		dir := tb.TempDir()
		return coordtest.Harness{
			Client:         client(rand.Text(), filepath.Join(dir, "state")),
			OtherNamespace: client(rand.Text(), filepath.Join(dir, "other")),
			Crash: func(tb testing.TB, c coord.Coordinator, _ coord.Grant) {
				tb.Helper()
				if err := c.Close(); err != nil {
					tb.Fatal(err)
				}
			},
		}
	})
}

func openEmbedded(tb testing.TB, dir, namespace string) coord.Coordinator {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), limit)
	defer cancel()
	c, err := embedded.New(ctx, dir, namespace, embedded.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = c.Close() })
	return c
}

func TestHistoriesOfEtcd(t *testing.T) {
	dir := t.TempDir()
	openEmbedded(t, dir, "host") // which runs the server
	conformance(t, func(tb testing.TB) coordtest.Harness {
		tb.Helper()
		client := func(namespace string) func(testing.TB, coord.Range) coord.Coordinator {
			return func(tb testing.TB, _ coord.Range) coord.Coordinator {
				tb.Helper()
				return openEmbedded(tb, dir, namespace)
			}
		}
		namespace := rand.Text()
		return coordtest.Harness{
			Client: client(namespace), OtherNamespace: client(rand.Text()), Sticky: true,
			RaiseFloor: func(tb testing.TB, tick int64) {
				tb.Helper()
				drivertest.RaiseFloor(tb, openEmbedded(tb, dir, namespace).(coord.Admin), tick)
			},
		}
	})
}

// memory returns the portable coordinator over a server in memory.
func memory(tb testing.TB, server *memstore.Server) coord.Coordinator {
	tb.Helper()
	common, err := lifetime.Settings{Clock: clock.System()}.Resolve(2*time.Minute, time.Second)
	if err != nil {
		tb.Fatal(err)
	}
	c, err := protocol.New(memstore.Store{Server: server}, protocol.Settings{
		Driver: "memory", Title: "the memory", Namespace: "orders", MinTTL: time.Second, MaxHorizon: 2 * time.Minute,
		SkewBound: common.SkewBound, Clock: common.Clock, Logger: common.Logger,
	})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = c.Close() })
	return c
}

// TestHistoriesOfThePortableCoordinator has leases that end, in a back end of memory.
func TestHistoriesOfThePortableCoordinator(t *testing.T) {
	conformance(t, func(tb testing.TB) coordtest.Harness {
		tb.Helper()
		own, other := memstore.NewServer("a"), memstore.NewServer("b")
		client := func(s *memstore.Server) func(testing.TB, coord.Range) coord.Coordinator {
			return func(tb testing.TB, _ coord.Range) coord.Coordinator {
				tb.Helper()
				return memory(tb, s)
			}
		}
		return coordtest.Harness{
			Client: client(own), OtherNamespace: client(other), Sticky: true,
			Expire: func(_ testing.TB, g coord.Grant) { own.Expire(g.WorkerID) },
			RaiseFloor: func(tb testing.TB, tick int64) {
				tb.Helper()
				drivertest.RaiseFloor(tb, memory(tb, own).(coord.Admin), tick)
			},
		}
	})
}

// TestHistoryOfGenerators has what generators ask for.
func TestHistoryOfGenerators(t *testing.T) {
	var calls atomic.Int64
	r := newRecording(t, &calls)
	dir := t.TempDir()
	for range 3 {
		c := r.record(t, openEmbedded(t, dir, "orders"))
		g, err := core.New(t.Context(), c, core.Config{Stripes: 2})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := g.Next(); err != nil {
			t.Error(err)
		}
		if err := g.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	if out := r.check(t); out.Calls < 12 || out.Workers < 2 || out.Unclear != 0 {
		t.Errorf("%+v", out)
	}
}

// TestHistoryAcrossALossOfState: a backup brings a former holder back. What it gets then begins
// above all that was granted, which is legal if the rules allow that state was lost.
func TestHistoryAcrossALossOfState(t *testing.T) {
	server, dir := memstore.NewServer("a"), t.TempDir()
	var paths []string
	participant := func(name string) coord.Coordinator {
		path := filepath.Join(dir, name)
		c, err := Record(memory(t, server), path)
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
		return c
	}
	first, second := participant("first"), participant("second")
	req := drivertest.Request(1)
	a := drivertest.MustAcquire(t, first, req)
	restore := server.Snapshot()
	server.Expire(a.WorkerID)
	b := drivertest.MustAcquire(t, second, drivertest.Request(1))
	b, err := second.Renew(t.Context(), b, b.NotAfter+10)
	if err != nil {
		t.Fatal(err)
	}
	restore()
	far := drivertest.TickNow() + time.Hour.Milliseconds() // behind the quarantine
	if _, err := second.Renew(t.Context(), b, far); !errors.Is(err, coord.ErrLeaseLost) {
		t.Fatalf("the state is one of before the grant, and its renewal: %v", err)
	}
	again, err := first.Renew(t.Context(), a, far)
	if err != nil || again.NotBefore < b.NotAfter {
		t.Fatalf("%v was given beside %v: %v", again, b, err)
	}
	for _, c := range []struct {
		rules []Rule
		legal bool
	}{{nil, false}, {[]Rule{LeasesLost}, false}, {[]Rule{StateLost}, true}} {
		if out, err := Check(paths, limit, c.rules...); err != nil || (out.Illegal == nil) != c.legal {
			t.Errorf("rules %v: %+v, %v", c.rules, out, err)
		}
	}
}
