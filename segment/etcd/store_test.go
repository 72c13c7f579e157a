package etcd

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/unalike-id/unalike/internal/leaktest"
	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
	"github.com/unalike-id/unalike/internal/testserver/numbertest"
	"github.com/unalike-id/unalike/segment"
	"github.com/unalike-id/unalike/segment/segmenttest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func within(tb testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	tb.Cleanup(cancel)
	return ctx
}

// store returns a store with a client of its own.
func store(tb testing.TB, s *etcdtest.Server, o Options) *Store {
	tb.Helper()
	st, err := New(s.Client(tb), "orders", o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = st.Close() })
	return st
}

// opened returns a store by its URL: a user, an @ and options, if any.
func opened(tb testing.TB, s *etcdtest.Server, user, options string) segment.Store {
	tb.Helper()
	url := "etcd://" + user + s.Endpoint + "/orders" + options
	st, err := segment.Open(within(tb), url, segment.OpenOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = st.Close() })
	return st
}

// create makes a tag that begins at 1, with a step of 10.
func create(tb testing.TB, s segment.Store, tag string) {
	tb.Helper()
	made := segment.Tag{Name: tag, Next: 1, Step: 10}
	if err := s.(segment.Creator).Create(within(tb), made); err != nil {
		tb.Fatal(err)
	}
}

// wantTake takes ten numbers that are to begin at first.
func wantTake(tb testing.TB, s segment.Store, tag string, first int64) {
	tb.Helper()
	r, err := s.Take(within(tb), tag, 10)
	if err != nil || r != (segment.Range{First: first, Last: first + 9}) {
		tb.Errorf("Take(%q, 10) = %v, %v; want it to begin at %d", tag, r, err, first)
	}
}

// wantChanged takes ten numbers, which is to be refused.
func wantChanged(tb testing.TB, s segment.Store, tag string) {
	tb.Helper()
	if r, err := s.Take(within(tb), tag, 10); !errors.Is(err, segment.ErrStoreChanged) {
		tb.Errorf("Take(%q, 10) = %v, %v; want ErrStoreChanged", tag, r, err)
	}
}

// keys are those of tags, as somebody sees them who has no store.
type keys struct{ *clientv3.Client }

func (k keys) get(tb testing.TB, tag string) record {
	tb.Helper()
	resp, err := k.Get(within(tb), root+"orders/"+tag)
	if err != nil || len(resp.Kvs) != 1 {
		tb.Fatalf("%s: %v, %v", tag, resp, err)
	}
	r, err := decode(tag, resp.Kvs[0].Value)
	if err != nil {
		tb.Logf("%s: %v", tag, err) // it is damaged
	}
	return r
}

func (k keys) put(tb testing.TB, tag, value string) {
	tb.Helper()
	if _, err := k.Put(within(tb), root+"orders/"+tag, value); err != nil {
		tb.Fatal(err)
	}
}

// set changes a tag.
func (k keys) set(tb testing.TB, tag string, change func(*record)) {
	tb.Helper()
	r := k.get(tb, tag)
	change(&r)
	value, err := r.encode(time.Now())
	if err != nil {
		tb.Fatal(err)
	}
	k.put(tb, tag, value)
}

// TestSuite holds the store to its interface.
func TestSuite(t *testing.T) {
	s := etcdtest.Start(t)
	segmenttest.Run(t, func(tb testing.TB) segment.Store { return store(tb, s, Options{}) })
}

// TestURL: a store is opened by its URL.
func TestURL(t *testing.T) {
	s := etcdtest.Start(t)
	create(t, opened(t, s, "", "?failover=skip:1000"), "a")
	wantTake(t, store(t, s, Options{}), "a", 1)
	for _, bad := range []string{
		"etcd://h", "etcd:///ns", "etcd://h/a\nb", "etcd://h/ns?ttl=5s",
		"etcd://h/ns?failover=x", "etcd://h/ns?ca=x", "etcd://u@h/ns",
	} {
		_, err := segment.Open(within(t), bad, segment.OpenOptions{})
		if !errors.Is(err, segment.ErrInvalidConfig) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// TestOtherCluster: a tag that was made in another cluster is refused until somebody has advanced
// it, and with the option its numbers are skipped.
func TestOtherCluster(t *testing.T) {
	s := etcdtest.Start(t)
	st := store(t, s, Options{})
	k := keys{s.Client(t)}
	for _, tag := range []string{"a", "b"} {
		create(t, st, tag)
		k.set(t, tag, func(r *record) { r.Next, r.Cluster = 100, "elsewhere" })
	}
	wantChanged(t, st, "a")
	if err := store(t, s, Options{}).Advance(within(t), "a", 500); err != nil {
		t.Fatal(err)
	}
	wantTake(t, st, "a", 500)
	wantTake(t, store(t, s, Options{Skip: 5000}), "b", 5100)
	wantTake(t, st, "b", 5110)
}

// TestWentBack: a cluster whose revision is below one that was seen is refused, until a tag is
// advanced, by somebody else as well.
func TestWentBack(t *testing.T) {
	s := etcdtest.Start(t)
	st, other := store(t, s, Options{}), store(t, s, Options{})
	create(t, st, "a")
	wantTake(t, st, "a", 1)
	wantTake(t, other, "a", 11)
	st.mu.Lock()
	for id := range st.highest {
		st.highest[id] += 1000 // as if it had seen later ones
	}
	st.mu.Unlock()
	for range 3 {
		wantChanged(t, st, "a")
	}
	if err := other.Advance(within(t), "a", 900); err != nil {
		t.Fatal(err)
	}
	wantTake(t, st, "a", 900)
}

// TestDamaged: a tag whose key somebody has damaged says so, and the others can be used.
func TestDamaged(t *testing.T) {
	s := etcdtest.Start(t)
	k := keys{s.Client(t)}
	numbertest.Damaged(t, store(t, s, Options{}), numbertest.Damage{
		Next: func(tb testing.TB, tag string, n int64) {
			tb.Helper()
			k.set(tb, tag, func(r *record) { r.Next = n })
		},
		Step: func(tb testing.TB, tag string, n int64) {
			tb.Helper()
			k.set(tb, tag, func(r *record) { r.Step = n })
		},
		Unreadable: func(tb testing.TB, tag string) { tb.Helper(); k.put(tb, tag, "{") },
		Says:       "key /unalike/segments/orders/nothing is damaged",
		Read:       func(tb testing.TB, tag string) int64 { tb.Helper(); return k.get(tb, tag).Next },
	})
	// What is skipped after a failover does not hide what is wrong.
	k.set(t, "negative", func(r *record) { r.Next, r.Cluster = -5, "elsewhere" })
	_, err := store(t, s, Options{Skip: 5000}).Take(within(t), "negative", 10)
	where := "next in key " + root + "orders/negative"
	damage := segment.CheckNext("negative", where, -5, 1<<63-1)
	if err == nil || err.Error() != damage.Error() || k.get(t, "negative").Next != -5 {
		t.Errorf("Take of a negative number after a failover: %v", err)
	}
}

// TestMended: a step that somebody has mended counts, also for who has stored the tag last, with a
// step of his own.
func TestMended(t *testing.T) {
	s := etcdtest.Start(t)
	st, k := store(t, s, Options{}), keys{s.Client(t)}
	create(t, st, "a")
	k.set(t, "a", func(r *record) { r.Step = 0 })
	wantTake(t, st, "a", 1)
	if err := store(t, s, Options{}).SetStep(within(t), "a", 5); err != nil {
		t.Fatal(err)
	}
	if r, err := st.Take(within(t), "a", 0); r.Len() != 5 || err != nil {
		t.Errorf("Take of a step that was mended: %v, %v", r, err)
	}
}

// TestDenied: a user that may is let in, and what is wrong with others is said.
func TestDenied(t *testing.T) {
	t.Parallel()
	const password = "secret"
	s := etcdtest.Start(t)
	etcdtest.Protect(t, s, "/unalike/segments/orders/", password)
	holder := opened(t, s, "holder:secret@", "")
	create(t, holder, "a")
	wantTake(t, holder, "a", 1)
	for user, says := range map[string]string{
		"holder:wrong@":    "refuses the user name or the password",
		"nobody:secret@":   "refuses the user name or the password",
		"":                 "wants a user and a password",
		"stranger:secret@": "may not read and write keys under ",
	} {
		_, err := opened(t, s, user, "").Take(within(t), "a", 10)
		if !errors.Is(err, segment.ErrInvalidConfig) || !strings.Contains(err.Error(), says) ||
			strings.Contains(err.Error(), password) {
			t.Errorf("as %q: %v; want an error that says %q", user, err, says)
		}
	}
}

// TestNoSpace: a database that has reached its quota is named in the error, with what to do.
func TestNoSpace(t *testing.T) {
	t.Parallel()
	s := etcdtest.Start(t)
	st := opened(t, s, "", "")
	create(t, st, "a")
	alarm := &pb.AlarmRequest{Action: pb.AlarmRequest_ACTIVATE, Alarm: pb.AlarmType_NOSPACE}
	server := pb.NewMaintenanceClient(s.Client(t).ActiveConnection())
	if _, err := server.Alarm(t.Context(), alarm); err != nil {
		t.Fatal(err)
	}
	_, err := st.Take(within(t), "a", 10)
	if err == nil || errors.Is(err, segment.ErrInvalidConfig) || !strings.Contains(err.Error(),
		"the database of the etcd cluster has reached its quota, and takes no writes: compact it ") {
		t.Errorf("Take: %v; want an error that says what to do", err)
	}
}
