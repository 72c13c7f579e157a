package sqlsegmenttest

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/unalike-id/unalike/internal/testserver/proxytest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
	"github.com/unalike-id/unalike/segment"
)

// Run has tests on one server, which lacks a key afterwards.
func Run(t *testing.T, d *Database) {
	d.Create(t, "trips", 1)
	for _, c := range []struct {
		name string
		run  func(*testing.T, *Database)
	}{
		{"round trips", roundTrips},
		{"advance race", advanceRace},
		{"all tags", allTags},
		{"misfits", misfits},
		{"delayed return", delayedReturn},
		{"silent", silent},
		{"set back", setBack},
		{"failed back", failedBack},
		{"moved", moved},
		{"skipped", skipped},
		{"races", races},
		{"hanging look", hangingLook},
		{"damaged", damaged},
		{"two rows", twoRows},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, d) })
	}
}

// roundTrips counts what calls are on the wire: a take is one, also of the tag's own step.
func roundTrips(t *testing.T, d *Database) {
	s, p := d.behind(t)
	own, err := s.Take(Within(t), "trips", 10) // connects
	if err != nil {
		t.Fatal(err)
	}
	for what, c := range calls {
		if c.trips == 0 {
			continue
		}
		p.Trips()
		if err := c.do(Within(t), s, own); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if n := p.Trips(); n > c.trips {
			t.Errorf("%s is %d round trips; want %d at most", what, n, c.trips)
		}
	}
}

// take is Take whose range is of no interest.
func take(ctx context.Context, s Store, tag string, step int64) error {
	_, err := s.Take(ctx, tag, step)
	return err
}

// advanceRace raises a tag beside programs that take ranges of it: what was done does not say that
// it was not.
func advanceRace(t *testing.T, d *Database) {
	other, s := d.Create(t, "race", 1), d.Store(t)
	stop, end := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		for stop.Err() == nil {
			_ = take(stop, other, "race", 10)
		}
	})
	for i := range int64(50) {
		if err := s.Advance(Within(t), "race", (i+1)*1_000_000); err != nil {
			t.Error(err)
		}
	}
	end()
	running.Wait()
}

// allTags raises all tags at once, which says of all of them that they are where they should be. A
// damaged one stays as it is.
func allTags(t *testing.T, d *Database) {
	for i := range 20 {
		d.Create(t, fmt.Sprint("every", i), 1)
	}
	running := d.Store(t)
	WantTake(t, running, "every1", 1)
	d.Do(t, "UPDATE leaf_alloc SET max_id = -5 WHERE biz_tag = 'every19'", elsewhere("every0"), away)
	WantRefused(t, running, "every1", segment.ErrStoreChanged, "")
	s, p := d.behind(t)
	if err := s.AdvanceAll(Within(t), 500); err != nil {
		t.Fatal(err)
	}
	if n := p.Trips(); n > 10 {
		t.Errorf("raising all tags is %d round trips, with connecting", n)
	}
	WantTake(t, running, "every1", 511)
	WantTake(t, running, "every0", 501)
	WantTake(t, d.Store(t), "every18", 501)
	if tag, err := running.Tag(Within(t), "every19"); tag.Next != -5 || tag.Damage == nil {
		t.Errorf("the damaged tag: %+v, %v", tag, err)
	}
	d.Do(t, "DELETE FROM leaf_alloc WHERE biz_tag = 'every19'")
}

// misfits has columns that are not those of the table: it is said, at once, and when that is mended
// the program goes on.
func misfits(t *testing.T, d *Database) {
	s := d.Create(t, "misfit", 1)
	WantTake(t, s, "misfit", 1)
	d.Do(t, "ALTER TABLE leaf_alloc RENAME COLUMN biz_tag TO other")
	WantRefused(t, s, "misfit", segment.ErrInvalidConfig, "CREATE TABLE")
	_, err := s.Tags(Within(t))
	WantErr(t, "Tags", err, segment.ErrInvalidConfig, "CREATE TABLE")
	d.Do(t, "ALTER TABLE leaf_alloc RENAME COLUMN other TO biz_tag")
	WantTake(t, s, "misfit", 11)
	d.Do(t, d.Retype+"numeric(20,2)")
	WantRefused(t, d.Store(t), "misfit", segment.ErrInvalidConfig, "whole numbers")
	d.Do(t, d.Retype+"bigint")
	WantTake(t, s, "misfit", 21)
}

// delayedReturn has the network do its worst: the statement that gives a rest back is delayed, its
// connection is lost, and somebody takes a range before it arrives. A store that had sent it again
// would give that range out twice: the second attempt is done, somebody takes exactly that rest,
// and then the first one arrives.
func delayedReturn(t *testing.T, d *Database) {
	other := d.Create(t, "aba", 1)
	s, p := d.behind(t)
	WantTake(t, s, "aba", 1)
	held := proxytest.NewHeld(func(request []byte) bool {
		return bytes.Contains(request, []byte("UPDATE")) && bytes.Contains(request, []byte("max_id = 11"))
	})
	p.HoldBack(held)
	done, err := s.GiveBack(Within(t), "aba", segment.Range{First: 6, Last: 10})
	<-held.Caught()
	if done || err == nil {
		t.Errorf("GiveBack whose connection was lost: %v, %v; want an unknown outcome", done, err)
	}
	a, err := other.Take(Within(t), "aba", 5)
	if err != nil {
		t.Fatal(err)
	}
	if err := held.Deliver(); err != nil {
		t.Fatal(err)
	}
	streamtest.Eventually(t, "the server has answered", func() bool { return held.Answer() != "" })
	d.Do(t, d.Idle)
	b, err := other.Take(Within(t), "aba", 5)
	if err != nil || b.First <= a.Last {
		t.Errorf("%v was handed out, and then %v, %v", a, b, err)
	}
}

// races has takes fail as in a dead lock: what was not done is done again.
func races(t *testing.T, d *Database) {
	s := d.Create(t, "races", 1)
	d.Do(t, d.Race...)
	defer d.Do(t, d.Calm)
	for i := range int64(10) {
		WantTake(t, s, "races", 1+10*i)
	}
}

// hangingLook has the first call of a store meet a server that does not answer, and never end:
// other calls end with their contexts all the same.
func hangingLook(t *testing.T, d *Database) {
	s, p := d.behind(t)
	p.Hang()
	forever, give := context.WithCancel(t.Context())
	first, second := make(chan error, 1), make(chan error, 1)
	go func() { _, err := s.Tags(forever); first <- err }()
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	go func() { second <- take(ctx, s, "look", 10) }()
	select {
	case err := <-second:
		WantErr(t, "Take while the server hangs", err, context.DeadlineExceeded, "")
	case <-time.After(15 * time.Second):
		t.Error("Take with a context of 500 ms has not returned after 15 s")
	}
	give()
	if err := <-first; err == nil {
		t.Error("the tags of a server that hangs were read")
	}
}
