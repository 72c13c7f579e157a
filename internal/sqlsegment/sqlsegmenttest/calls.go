package sqlsegmenttest

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/unalike-id/unalike/internal/testserver/numbertest"
	"github.com/unalike-id/unalike/internal/testserver/proxytest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
	"github.com/unalike-id/unalike/segment"
)

// RoundTrips counts what calls are on the wire: a take is one, also of the tag's own step.
func RoundTrips(t *testing.T, d *Database) {
	d.create(t, "trips", 10)
	w := &Wire{}
	s := d.Open(t, w, 0)
	if _, err := s.Tags(within(t)); err != nil { // connects
		t.Fatal(err)
	}
	w.Trips()
	for i := range int64(10) {
		wantTake(t, s, "trips", 1+10*i)
	}
	if n := w.Trips(); n != 10 {
		t.Errorf("10 takes are %d round trips", n)
	}
	for what, call := range map[string]struct {
		most int
		do   func() error
	}{
		"New and Close": {3, func() error { // connecting, and looking at the server, come to that
			q, err := segment.New(within(t), s, "trips", segment.Config{Logger: slog.New(slog.DiscardHandler)})
			if err == nil {
				defer q.Close(within(t))
			}
			return err
		}},
		"GiveBack":   {2, func() error { _, err := s.GiveBack(within(t), "trips", segment.Range{First: 0, Last: 0}); return err }},
		"Advance":    {3, func() error { return s.Advance(within(t), "trips", 1000) }},
		"Tag":        {1, func() error { _, err := s.Tag(within(t), "trips"); return err }},
		"AdvanceAll": {4, func() error { return s.AdvanceAll(within(t), 1) }},
	} {
		w.Trips()
		if err := call.do(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if n := w.Trips(); n > call.most {
			t.Errorf("%s is %d round trips; want %d at most", what, n, call.most)
		}
	}
}

// AdvanceRace raises a tag beside programs that take ranges of it: what was done does not say that it was not.
func AdvanceRace(t *testing.T, d *Database) {
	other := d.create(t, "race", 10)
	stop, end := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		for stop.Err() == nil {
			_, _ = other.Take(stop, "race", 10)
		}
	})
	s := d.Open(t, &Wire{}, 0)
	for i := range int64(50) {
		if err := s.Advance(within(t), "race", (i+1)*1_000_000); err != nil {
			t.Error(err)
		}
	}
	end()
	running.Wait()
}

// AllTags raises all tags at once, which says of all of them that they are where they should be. A damaged one stays as it is.
func AllTags(t *testing.T, d *Database) {
	d.create(t, "every", 10)
	for i := range 20 {
		d.create(t, fmt.Sprint("every", i), 10)
	}
	running := d.Open(t, &Wire{}, 0)
	wantTake(t, running, "every", 1)
	d.Exec(t, "UPDATE leaf_alloc SET max_id = -5 WHERE biz_tag = 'every19'")
	d.Exec(t, "INSERT INTO unalike_meta SELECT 'leaf_alloc:every0', 'elsewhere', MAX(stamp) + 1000000 FROM unalike_meta")
	d.Exec(t, "UPDATE unalike_meta SET identity = 'elsewhere', stamp = stamp + 1 WHERE name = 'leaf_alloc'")
	if _, err := running.Take(within(t), "every", 10); !errors.Is(err, segment.ErrStoreChanged) {
		t.Errorf("Take on another server: %v", err)
	}
	w := &Wire{}
	if err := d.Open(t, w, 0).AdvanceAll(within(t), 500); err != nil {
		t.Fatal(err)
	}
	if n := w.Trips(); n > 10 {
		t.Errorf("raising all tags is %d round trips, with connecting", n)
	}
	wantTake(t, running, "every", 511)
	wantTake(t, running, "every0", 501)
	wantTake(t, d.Open(t, &Wire{}, 0), "every18", 501)
	if tag, err := running.Tag(within(t), "every19"); err != nil || tag.Next != -5 || tag.Damage == nil {
		t.Errorf("the damaged tag: %+v, %v", tag, err)
	}
	d.Exec(t, "DELETE FROM leaf_alloc WHERE biz_tag = 'every19'")
}

// Misfits has columns that are not those of the table: it is said, at once, and when that is mended the program goes on.
func Misfits(t *testing.T, d *Database, wrong, right string) {
	s := d.create(t, "misfit", 10)
	wantTake(t, s, "misfit", 1)
	d.Exec(t, "ALTER TABLE leaf_alloc RENAME COLUMN biz_tag TO other")
	for what, call := range map[string]func() error{
		"Take": func() error { _, err := s.Take(within(t), "misfit", 10); return err },
		"Tags": func() error { _, err := s.Tags(within(t)); return err },
	} {
		if err := call(); !errors.Is(err, segment.ErrInvalidConfig) || !strings.Contains(err.Error(), "CREATE TABLE") {
			t.Errorf("%s without a column: %v", what, err)
		}
	}
	d.Exec(t, "ALTER TABLE leaf_alloc RENAME COLUMN other TO biz_tag")
	wantTake(t, s, "misfit", 11)
	d.Exec(t, wrong)
	if _, err := d.Open(t, &Wire{}, 0).Take(within(t), "misfit", 10); !errors.Is(err, segment.ErrInvalidConfig) || !strings.Contains(err.Error(), "whole numbers") {
		t.Errorf("Take from a column with fractions: %v", err)
	}
	d.Exec(t, right)
	wantTake(t, s, "misfit", 21)
}

// isReturn matches the statement that gives back what ends before number.
func isReturn(number string) func([]byte) bool {
	return func(request []byte) bool {
		return bytes.Contains(request, []byte("UPDATE")) && bytes.Contains(request, []byte("max_id = "+number))
	}
}

// DelayedReturn has the network do its worst: the statement that gives a rest back is delayed, its connection is lost, and somebody takes a range before it
// arrives. A store that had sent it again would give that range out twice: the second attempt is done, somebody takes exactly that
// rest, and then the first one arrives.
func DelayedReturn(t *testing.T, d *Database) {
	d.create(t, "aba", 10)
	other := d.Open(t, &Wire{}, 0)
	p := proxytest.Start(t, d.Addr)
	s := d.Open(t, (&Wire{}).To(p.Addr), 0)
	wantTake(t, s, "aba", 1)
	held := proxytest.NewHeld(isReturn("11"))
	p.Hold(held)
	done, err := s.GiveBack(within(t), "aba", segment.Range{First: 6, Last: 10})
	<-held.Caught()
	if done || err == nil {
		t.Errorf("GiveBack whose connection was lost: %v, %v; want that its outcome is not known", done, err)
	}
	a, err := other.Take(within(t), "aba", 5)
	if err != nil {
		t.Fatal(err)
	}
	if err := held.Deliver(); err != nil {
		t.Fatal(err)
	}
	streamtest.Eventually(t, "the server has answered", func() bool { return held.Answer() != "" })
	d.Exec(t, d.Idle)
	b, err := other.Take(within(t), "aba", 5)
	if err != nil {
		t.Fatal(err)
	}
	if b.First <= a.Last {
		t.Errorf("%v was handed out, and then %v", a, b)
	}
}

// LostReplies loses replies to takes and to returns: no number comes twice.
func LostReplies(t *testing.T, d *Database) {
	d.create(t, "lost", 3)
	p := proxytest.Start(t, d.Addr)
	p.Rob(4, func(request []byte) bool {
		return bytes.Contains(request, []byte("UPDATE")) || bytes.Contains(bytes.ToUpper(request), []byte("COMMIT"))
	})
	var l numbertest.Ledger
	defer l.Check(t)
	var running sync.WaitGroup
	for range 4 {
		running.Go(func() {
			for range 4 {
				s, err := segment.New(within(t), d.Open(t, (&Wire{}).To(p.Addr), 0), "lost", segment.Config{MaxStep: 5, RefillTimeout: callTime})
				if err != nil {
					t.Error(err)
					return
				}
				dst := make([]int64, 13)
				if _, err := s.Fill(within(t), dst); err != nil {
					t.Error(err)
				}
				l.Note(dst)
				_ = s.Close(within(t)) // that its outcome is not known is no mistake
			}
		})
	}
	running.Wait()
	if p.Robbed() < 5 {
		t.Errorf("%d replies were lost: does this test still find them?", p.Robbed())
	}
}

// Races has takes fail as in a dead lock: what was not done is done again.
func Races(t *testing.T, d *Database) {
	s := d.create(t, "races", 10)
	for _, statement := range d.Race {
		d.Exec(t, statement)
	}
	defer d.Exec(t, d.Calm)
	for i := range int64(10) {
		wantTake(t, s, "races", 1+10*i)
	}
}

// Killed kills the server again and again. It is killed and started again while programs take numbers. They go on by themselves, and no number comes
// twice.
func Killed(t *testing.T, d *Database, server Server, rounds int) {
	d.create(t, "killed", 50)
	var l numbertest.Ledger
	defer l.Check(t)
	stop, end := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for range 4 {
		s, err := segment.New(within(t), d.Open(t, &Wire{}, 0), "killed", segment.Config{})
		if err != nil {
			t.Fatal(err)
		}
		running.Go(func() {
			dst := make([]int64, 50_000)
			pace := time.NewTicker(2 * time.Millisecond)
			defer pace.Stop()
			for stop.Err() == nil {
				n, err := s.Fill(stop, dst)
				l.Note(dst[:n])
				if err != nil && stop.Err() == nil {
					t.Errorf("Fill while the server is killed: %v", err)
				}
				<-pace.C
			}
			_ = s.Close(within(t))
		})
	}
	for range rounds {
		server.Kill()
		server.Restart(t)
		before := highest(t, d)
		streamtest.Eventually(t, "ranges are taken again", func() bool { return highest(t, d) > before+1_000_000 })
	}
	end()
	running.Wait()
}

// highest is the next number of the tag killed; 0: the server cannot be reached.
func highest(tb testing.TB, d *Database) (n int64) {
	tb.Helper()
	err := d.SQL.QueryRowContext(within(tb), "SELECT max_id FROM leaf_alloc WHERE biz_tag = 'killed'").Scan(&n)
	if errors.Is(err, sql.ErrNoRows) {
		tb.Fatal("the tag is gone")
	}
	return n
}

// Frozen stops the server. One that is frozen until all is spent is noticed with a clear error, and a second after its return there
// are numbers again.
func Frozen(t *testing.T, d *Database, server Server) {
	d.create(t, "frozen", 10)
	s, err := segment.New(within(t), d.Open(t, &Wire{}, 0), "frozen", segment.Config{MaxStep: 10, RefillTimeout: 500 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(within(t))
	server.Freeze(t)
	failed := error(nil)
	for range 100 {
		if _, failed = s.Next(); failed != nil {
			break
		}
	}
	if !errors.Is(failed, segment.ErrUnavailable) {
		t.Errorf("Next from a frozen server: %v", failed)
	}
	server.Thaw(t)
	began := time.Now()
	if _, err := s.NextContext(within(t)); err != nil {
		t.Errorf("after its return: %v", err)
	}
	t.Logf("the first number came %v after its return", time.Since(began))
}

// FrozenLook has the first call of a store meet a frozen server, and never end: other calls end with their contexts all the same.
func FrozenLook(t *testing.T, d *Database, server Server) {
	d.create(t, "look", 10)
	s := d.Open(t, &Wire{}, 0)
	server.Freeze(t)
	forever, give := context.WithCancel(t.Context())
	first := make(chan error, 1)
	go func() { _, err := s.Tags(forever); first <- err }()
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	ended := make(chan error, 1)
	go func() { _, err := segment.New(ctx, s, "look", segment.Config{}); ended <- err }()
	select {
	case err := <-ended:
		if !errors.Is(err, segment.ErrUnavailable) {
			t.Errorf("New while the server is frozen: %v", err)
		}
		t.Logf("New with a context of 500 ms took %v", time.Since(began))
	case <-time.After(15 * time.Second):
		t.Error("New with a context of 500 ms has not returned after 15 s")
	}
	give()
	if err := <-first; err == nil {
		t.Error("the tags of a frozen server were read")
	}
	server.Thaw(t)
}
