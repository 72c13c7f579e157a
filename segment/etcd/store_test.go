package etcd

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"

	"github.com/unalike-id/unalike/internal/leaktest"
	"github.com/unalike-id/unalike/internal/safetytest"
	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
	"github.com/unalike-id/unalike/internal/testserver/numbertest"
	"github.com/unalike-id/unalike/segment"
	"github.com/unalike-id/unalike/segment/segmenttest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

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
	r, err := decode(tag, resp.Kvs[0].Value)
	if err != nil {
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
	value, err := r.encode(time.Now())
	if err != nil {
		s.Fatal(err)
	}
	s.put(tag, value)
}

// TestSuite holds the store to its interface.
func TestSuite(t *testing.T) {
	s := start(t)
	segmenttest.Run(t, func(tb testing.TB) segment.Store {
		return server{tb, s.Server, s.hand}.store(0)
	})
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

// TestOtherCluster: a tag that was made in another cluster is refused until somebody has advanced
// it, and with the option its numbers are skipped.
func TestOtherCluster(t *testing.T) {
	s := start(t)
	st := s.store(0)
	for _, tag := range []string{"a", "b"} {
		s.create(st, tag)
		s.set(tag, func(r *record) { r.Next, r.Cluster = 100, "elsewhere" })
	}
	s.wantChanged(st, "a")
	if err := s.store(0).Advance(s.within(), "a", 500); err != nil {
		t.Fatal(err)
	}
	s.wantTake(st, "a", 500)
	s.wantTake(s.store(5000), "b", 5100)
	s.wantTake(st, "b", 5110)
}

// TestWentBack: a cluster whose revision is below one that was seen is refused, until a tag is
// advanced, by somebody else as well.
func TestWentBack(t *testing.T) {
	s := start(t)
	st, other := s.store(0), s.store(0)
	s.create(st, "a")
	s.wantTake(st, "a", 1)
	s.wantTake(other, "a", 11)
	st.mu.Lock()
	for id := range st.highest {
		st.highest[id] += 1000 // as if it had seen later ones
	}
	st.mu.Unlock()
	for range 3 {
		s.wantChanged(st, "a")
	}
	if err := other.Advance(s.within(), "a", 900); err != nil {
		t.Fatal(err)
	}
	s.wantTake(st, "a", 900)
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
	s.set("negative", func(r *record) { r.Next, r.Cluster = -5, "elsewhere" })
	_, err := s.store(5000).Take(s.within(), "negative", 10)
	where := "next in key " + root + "orders/negative"
	damage := segment.CheckNext("negative", where, -5, 1<<63-1)
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
