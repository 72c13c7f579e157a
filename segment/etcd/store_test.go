package etcd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"

	"github.com/unalike-id/unalike/internal/leaktest"
	"github.com/unalike-id/unalike/internal/safetytest"
	"github.com/unalike-id/unalike/internal/tagcheck"
	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
	"github.com/unalike-id/unalike/internal/testserver/numbertest"
	"github.com/unalike-id/unalike/segment"
	"github.com/unalike-id/unalike/segment/segmenttest"
)

func TestMain(m *testing.M) {
	if url, ok := os.LookupEnv(takerEnv); ok {
		fmt.Fprintln(os.Stderr, take(url))
		os.Exit(1)
	}
	numbertest.Taker()
	leaktest.Main(m)
}

// server is an etcd in a test, and a client with which somebody changes keys by hand.
type server struct {
	testing.TB
	*etcdtest.Server
	hand *clientv3.Client
}

// start runs a server.
func start(tb testing.TB) server {
	tb.Helper()
	s := etcdtest.Start(tb)
	return server{tb, s, s.Client(tb)}
}

// within returns a context for one call.
func (s server) within() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	s.Cleanup(cancel)
	return ctx
}

// store returns a store with a client of its own, made with opts; skip is its option.
func (s server) store(skip int64, opts ...grpc.DialOption) *Store {
	s.Helper()
	st, err := New(s.Client(s, opts...), "orders", Options{Skip: skip})
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = st.Close() })
	return st
}

// opened returns a store by its URL: a user, an @ and options, if any.
func (s server) opened(user, options string) segment.Store {
	s.Helper()
	url := "etcd://" + user + s.Endpoint + "/orders" + options
	st, err := segment.Open(s.within(), url, segment.OpenOptions{})
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = st.Close() })
	return st
}

// create makes a tag that begins at 1, with a step of 10.
func (s server) create(st segment.Store, tag string) {
	s.Helper()
	made := segment.Tag{Name: tag, Next: 1, Step: 10}
	if err := st.(segment.Creator).Create(s.within(), made); err != nil {
		s.Fatal(err)
	}
}

// wantTake takes ten numbers that are to begin at first.
func (s server) wantTake(st segment.Store, tag string, first int64) {
	s.Helper()
	r, err := st.Take(s.within(), tag, 10)
	if err != nil || r != (segment.Range{First: first, Last: first + 9}) {
		safetytest.Unless(s, err).Errorf("Take(%q, 10) = %v, %v; want it to begin at %d", tag, r, err,
			first)
	}
}

// wantChanged takes ten numbers, which is to be refused.
func (s server) wantChanged(st segment.Store, tag string) {
	s.Helper()
	if r, err := st.Take(s.within(), tag, 10); !errors.Is(err, segment.ErrStoreChanged) {
		safetytest.Unless(s, err).Errorf("Take(%q, 10) = %v, %v; want ErrStoreChanged", tag, r, err)
	}
}

// get reads a tag.
func (s server) get(tag string) record {
	s.Helper()
	resp, err := s.hand.Get(s.within(), root+"orders/"+tag)
	if err != nil || len(resp.Kvs) != 1 {
		s.Fatalf("%s: %v, %v", tag, resp, err)
	}
	var r record
	if _, err := decode(resp.Kvs, &r, &r.Version); err != nil {
		s.Logf("%s: %v", tag, err) // it is damaged
	}
	return r
}

// put writes what is stored of a tag.
func (s server) put(tag, value string) {
	s.Helper()
	if _, err := s.hand.Put(s.within(), root+"orders/"+tag, value); err != nil {
		s.Fatal(err)
	}
}

// set changes a tag.
func (s server) set(tag string, change func(*record)) {
	s.Helper()
	r := s.get(tag)
	change(&r)
	s.put(tag, encode(r))
}

// change changes the cluster record.
func (s server) change(key string, f func(*cluster)) {
	s.Helper()
	resp, err := s.hand.Get(s.within(), root+"orders/"+key)
	if err != nil || len(resp.Kvs) != 1 {
		s.Fatalf("%q: %v, %v", key, resp, err)
	}
	var c cluster
	if _, err := decode(resp.Kvs, &c, &c.Version); err != nil {
		s.Fatal(err)
	}
	f(&c)
	s.put(key, encode(c))
}

// TestSuite holds the store to its interface.
func TestSuite(t *testing.T) {
	s := start(t)
	segmenttest.Run(t, func(tb testing.TB) segment.Store {
		return server{tb, s.Server, s.hand}.store(0)
	})
}

// TestStormHeavy has processes take numbers while everything fails.
func TestStormHeavy(t *testing.T) {
	s := start(t)
	numbertest.Storm{
		Addr: s.Endpoint, URL: func(addr string) string { return "etcd://" + addr + "/orders" },
		Restart: func() {
			s.Kill()
			s.Restart(t)
		},
	}.Run(t, s.store(0))
}

// TestURL: a store is opened by its URL.
func TestURL(t *testing.T) {
	s := start(t)
	s.create(s.opened("", "?failover=skip:1000"), "a")
	s.wantTake(s.store(0), "a", 1)
	for _, bad := range []string{
		"etcd://h", "etcd:///ns", "etcd://h/a\nb", "etcd://h/ns?ttl=5s",
		"etcd://h/ns?failover=x", "etcd://h/ns?ca=x", "etcd://u@h/ns",
	} {
		_, err := segment.Open(s.within(), bad, segment.OpenOptions{})
		if !errors.Is(err, segment.ErrInvalidConfig) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// moved makes the cluster record that of another cluster, as after restoring a snapshot of it.
func (s server) moved() {
	s.Helper()
	s.change("\x00cluster", func(c *cluster) { c.Cluster = "elsewhere" })
}

// TestOtherCluster: another cluster than before is refused by all programs, those that start later
// included, until all tags are advanced. An advanced tag can be used before.
func TestOtherCluster(t *testing.T) {
	s := start(t)
	st, other := s.store(0), s.store(0)
	for _, tag := range []string{"a", "b"} {
		s.create(st, tag)
		s.wantTake(other, tag, 1)
	}
	s.moved()
	for _, st := range []*Store{st, other, s.store(0)} {
		s.wantChanged(st, "a")
		s.wantChanged(st, "b")
	}
	made := segment.Tag{Name: "c", Next: 1, Step: 10, Since: time.Now()}
	if err := st.Create(s.within(), made); !errors.Is(err, segment.ErrStoreChanged) {
		t.Errorf("a program creates a tag: %v", err)
	}
	if err := s.store(0).Advance(s.within(), "a", 500); err != nil {
		t.Fatal(err)
	}
	s.wantTake(st, "a", 500)
	s.wantChanged(other, "b")
	if err := s.store(0).AdvanceAll(s.within(), 1000); err != nil {
		t.Fatal(err)
	}
	s.wantTake(st, "a", 1510)
	s.wantTake(other, "b", 1011)
	s.wantTake(st, "b", 1021)
}

// TestOtherCluster_Skip: one program skips numbers of all tags, for all programs, once.
func TestOtherCluster_Skip(t *testing.T) {
	s := start(t)
	st, skips := s.store(0), s.store(5000)
	for _, tag := range []string{"a", "b", "c"} {
		s.create(st, tag)
	}
	s.set("c", func(r *record) { r.Next = 1<<63 - 100 })
	s.moved()
	s.wantChanged(st, "a")
	s.wantTake(skips, "a", 5001)
	s.wantTake(st, "a", 5011)
	s.wantTake(st, "b", 5001)
	s.wantTake(s.store(5000), "b", 5011)
	if all, err := st.Tags(s.within()); err != nil || len(all) != 3 || all[2].Next != 1<<63-1 {
		t.Errorf("Tags: %v, %v", all, err)
	}
	if _, err := st.Take(s.within(), "c", 1); !errors.Is(err, segment.ErrExhausted) {
		t.Errorf("Take of a tag whose numbers were skipped: %v", err)
	}
}

// TestCreate_Since: a tag that a program creates because a failover has lost it begins above the
// skipped numbers, and one that cannot have been lost does not.
func TestCreate_Since(t *testing.T) {
	s := start(t)
	st := s.store(5000)
	s.create(st, "a")
	s.moved()
	s.wantTake(st, "a", 5001)
	now := time.Now()
	for tag, c := range map[string]struct {
		since time.Time
		first int64
	}{
		"a.2026-11": {now.Add(-time.Hour), 5001}, "a.2026-12": {now.Add(time.Hour), 1}, "b": {first: 1},
	} {
		made := segment.Tag{Name: tag, Next: 1, Step: 10, Since: c.since}
		if err := st.Create(s.within(), made); err != nil {
			t.Fatal(err)
		}
		s.wantTake(s.store(0), tag, c.first)
	}
}

// TestFormerFormat: a namespace without a cluster record gets one from its tags.
func TestFormerFormat(t *testing.T) {
	s := start(t)
	st := s.store(0)
	s.create(st, "a")
	s.wantTake(st, "a", 1)
	remove := func() {
		if _, err := s.hand.Delete(s.within(), root+"orders/\x00cluster"); err != nil {
			t.Fatal(err)
		}
	}
	remove()
	s.wantTake(s.store(0), "a", 11)
	s.set("a", func(r *record) { r.Cluster = "elsewhere" })
	remove()
	s.wantChanged(s.store(0), "a")
	remove()
	s.wantTake(s.store(5000), "a", 5021)
}

// TestWentBack: a cluster whose revision is below one that was seen is refused by all programs,
// until all tags are advanced, and then by none that saw the same.
func TestWentBack(t *testing.T) {
	s := start(t)
	st, same, other := s.store(0), s.store(0), s.store(0)
	s.create(st, "a")
	s.wantTake(st, "a", 1)
	s.wantTake(same, "a", 11)
	s.wantTake(other, "a", 21)
	for _, st := range []*Store{st, same} {
		st.mu.Lock()
		st.last.revision += 1000 // as if it had seen later ones
		st.mu.Unlock()
	}
	for _, st := range []*Store{st, other, same, st} {
		s.wantChanged(st, "a")
	}
	if err := other.AdvanceAll(s.within(), 900); err != nil {
		t.Fatal(err)
	}
	s.wantTake(st, "a", 931)
	s.wantTake(same, "a", 941)
}

// TestWentBack_Record: a cluster that has an older record than this program saw is refused.
func TestWentBack_Record(t *testing.T) {
	s := start(t)
	st := s.store(0)
	s.create(st, "a")
	s.wantTake(st, "a", 1)
	s.change("\x00cluster", func(c *cluster) { c.Stamp-- })
	s.wantChanged(st, "a")
	s.wantChanged(s.store(0), "a")
}

// TestTakeWentBack: a tag that went back between the numbers of two programs is refused by both,
// until it is advanced above all; other tags can be used.
func TestTakeWentBack(t *testing.T) {
	s := start(t)
	low, high := s.store(0), s.store(0)
	s.create(low, "a")
	s.create(low, "b")
	s.wantTake(low, "a", 1)
	s.wantTake(high, "a", 11)
	s.wantTake(high, "a", 21)
	s.set("a", func(r *record) { r.Next = 15 })
	for _, st := range []*Store{high, low, s.store(5000)} {
		_, err := st.Take(s.within(), "a", 10)
		if back, ok := errors.AsType[*segment.WentBackError](err); !ok || back.Above != 30 ||
			back.Got != (segment.Range{First: 15, Last: 24}) {
			safetytest.Unless(t, err).Errorf("Take of a tag that went back: %v", err)
		}
	}
	s.wantTake(low, "b", 1)
	if err := low.Advance(s.within(), "a", 30); !errors.Is(err, segment.ErrInvalidConfig) {
		t.Errorf("Advance to a number in use: %v", err)
	}
	if err := low.Advance(s.within(), "a", 31); err != nil {
		t.Error(err)
	}
	s.wantTake(low, "a", 31)
	s.wantTake(high, "a", 41)
}

// TestTakeWentBack_GivenBack: numbers that were given back are no sign of that.
func TestTakeWentBack_GivenBack(t *testing.T) {
	s := start(t)
	st := s.store(0)
	s.create(st, "a")
	s.wantTake(st, "a", 1)
	if done, err := st.GiveBack(s.within(), "a", segment.Range{First: 5, Last: 10}); !done ||
		err != nil {
		t.Fatal(done, err)
	}
	s.wantTake(s.store(0), "a", 5)
	s.wantTake(st, "a", 15)
}

// TestDamaged: a tag whose key somebody has damaged says so, and the others can be used.
func TestDamaged(t *testing.T) {
	s := start(t)
	numbertest.Damaged(t, s.store(0), numbertest.Damage{
		Next:       func(tag string, n int64) { s.set(tag, func(r *record) { r.Next = n }) },
		Step:       func(tag string, n int64) { s.set(tag, func(r *record) { r.Step = n }) },
		Unreadable: func(tag string) { s.put(tag, "{") },
		Says:       "key /unalike/segments/orders/nothing is damaged",
		Read:       func(tag string) int64 { return s.get(tag).Next },
	})
	// What is skipped after a failover does not hide what is wrong.
	s.set("negative", func(r *record) { r.Next = -5 })
	s.moved()
	_, err := s.store(5000).Take(s.within(), "negative", 10)
	where := "next in key " + root + "orders/negative"
	damage := tagcheck.Next("negative", where, -5, 1<<63-1)
	if err == nil || err.Error() != damage.Error() || s.get("negative").Next != -5 {
		t.Errorf("Take of a negative number after a failover: %v", err)
	}
}

// TestMended: a step that somebody has mended counts, also for who has stored the tag last, with a
// step of his own.
func TestMended(t *testing.T) {
	s := start(t)
	st := s.store(0)
	s.create(st, "a")
	s.set("a", func(r *record) { r.Step = 0 })
	s.wantTake(st, "a", 1)
	if err := s.store(0).SetStep(s.within(), "a", 5); err != nil {
		t.Fatal(err)
	}
	if r, err := st.Take(s.within(), "a", 0); r.Len() != 5 || err != nil {
		t.Errorf("Take of a step that was mended: %v, %v", r, err)
	}
}

// TestDenied: a user that may is let in, and what is wrong with others is said.
func TestDenied(t *testing.T) {
	t.Parallel()
	const password = "secret"
	s := start(t)
	etcdtest.Protect(t, s.Server, "/unalike/segments/orders/", password)
	holder := s.opened("holder:secret@", "")
	s.create(holder, "a")
	s.wantTake(holder, "a", 1)
	for user, says := range map[string]string{
		"holder:wrong@":    "refuses the user name or the password",
		"nobody:secret@":   "refuses the user name or the password",
		"":                 "wants a user and a password",
		"stranger:secret@": "may not read and write keys under ",
	} {
		_, err := s.opened(user, "").Take(s.within(), "a", 10)
		if !errors.Is(err, segment.ErrInvalidConfig) || !strings.Contains(err.Error(), says) ||
			strings.Contains(err.Error(), password) {
			t.Errorf("as %q: %v; want an error that says %q", user, err, says)
		}
	}
}

// TestNoSpace: a database that has reached its quota is named in the error, with what to do.
func TestNoSpace(t *testing.T) {
	t.Parallel()
	s := start(t)
	st := s.opened("", "")
	s.create(st, "a")
	alarm := &pb.AlarmRequest{Action: pb.AlarmRequest_ACTIVATE, Alarm: pb.AlarmType_NOSPACE}
	server := pb.NewMaintenanceClient(s.hand.ActiveConnection())
	if _, err := server.Alarm(t.Context(), alarm); err != nil {
		t.Fatal(err)
	}
	_, err := st.Take(s.within(), "a", 10)
	if err == nil || errors.Is(err, segment.ErrInvalidConfig) || !strings.Contains(err.Error(),
		"the database of the etcd cluster has reached its quota, and takes no writes: compact it ") {
		t.Errorf("Take: %v; want an error that says what to do", err)
	}
}
