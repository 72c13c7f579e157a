package sqlsegmenttest

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/unalike-id/unalike/internal/safetytest"
	"github.com/unalike-id/unalike/internal/testserver/proxytest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
	"github.com/unalike-id/unalike/segment"
)

// Run has tests on one server, which lacks a key afterwards.
func Run(t *testing.T, d *Database) {
	d.Create("trips", 1)
	for _, c := range []struct {
		name string
		run  func(*Database)
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
		{"restored", restored},
		{"lost", lost},
		{"in flight", inFlight},
		{"races", races},
		{"hanging look", hangingLook},
		{"damaged", damaged},
		{"returned", returned},
		{"late answers", lateAnswers},
		{"servers", servers},
		{"raised to the end", raisedToEnd},
		{"two rows", twoRows},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(d.On(t)) })
	}
}

// roundTrips counts what calls are on the wire: a take is one, also of the tag's own step.
func roundTrips(d *Database) {
	s, p := d.behind()
	own, err := s.Take(d.Within(), "trips", 10) // connects
	if err != nil {
		d.Fatal(err)
	}
	for what, c := range calls {
		if c.trips == 0 {
			continue
		}
		p.Trips()
		if err := c.do(d.Within(), s, own); err != nil {
			d.Errorf("%s: %v", what, err)
		}
		if n := p.Trips(); n > c.trips {
			d.Errorf("%s is %d round trips; want %d at most", what, n, c.trips)
		}
	}
}

// take is Take whose range is of no interest.
func take(ctx context.Context, s segment.Store, tag string, step int64) error {
	_, err := s.Take(ctx, tag, step)
	return err
}

// advanceRace raises a tag beside programs that take ranges of it: what was done does not say that
// it was not.
func advanceRace(d *Database) {
	other, s := d.Create("race", 1), d.Store()
	stop, end := context.WithCancel(d.Context())
	var running sync.WaitGroup
	running.Go(func() {
		for stop.Err() == nil {
			_ = take(stop, other, "race", 10)
		}
	})
	for i := range int64(50) {
		if err := s.Advance(d.Within(), "race", (i+1)*1_000_000); err != nil {
			d.Error(err)
		}
	}
	end()
	running.Wait()
}

// allTags raises all tags at once, which says of all of them that they are where they should be. A
// damaged one stays as it is.
func allTags(d *Database) {
	for i := range 20 {
		d.Create(fmt.Sprint("every", i), 1)
	}
	running := d.Store()
	d.WantTake(running, "every1", 1)
	d.Do("UPDATE leaf_alloc SET max_id = -5 WHERE biz_tag = 'every19'", elsewhere("every0"), away)
	d.WantRefused(running, "every1", segment.ErrStoreChanged, "")
	s, p := d.behind()
	if err := s.AdvanceAll(d.Within(), 500); err != nil {
		d.Fatal(err)
	}
	if n := p.Trips(); n > 10 {
		d.Errorf("raising all tags is %d round trips, with connecting", n)
	}
	d.WantTake(running, "every1", 511)
	d.WantTake(running, "every0", 501)
	d.WantTake(d.Store(), "every18", 501)
	if tag, err := running.Tag(d.Within(), "every19"); tag.Next != -5 || tag.Damage == nil {
		d.Errorf("the damaged tag: %+v, %v", tag, err)
	}
	d.Do("DELETE FROM leaf_alloc WHERE biz_tag = 'every19'")
}

// misfits has columns that are not those of the table: it is said, at once, and when that is mended
// the program goes on.
func misfits(d *Database) {
	s := d.Create("misfit", 1)
	d.WantTake(s, "misfit", 1)
	d.Do("ALTER TABLE leaf_alloc RENAME COLUMN biz_tag TO other")
	d.WantRefused(s, "misfit", segment.ErrInvalidConfig, "CREATE TABLE")
	_, err := s.Tags(d.Within())
	d.WantErr("Tags", err, segment.ErrInvalidConfig, "CREATE TABLE")
	d.Do("ALTER TABLE leaf_alloc RENAME COLUMN other TO biz_tag")
	d.WantTake(s, "misfit", 11)
	d.Do(d.Retype + "numeric(20,2)")
	d.WantRefused(d.Store(), "misfit", segment.ErrInvalidConfig, "whole numbers")
	d.Do(d.Retype + "bigint")
	d.WantTake(s, "misfit", 21)
}

// delayedReturn has the network do its worst: the statement that gives a rest back is delayed, its
// connection is lost, and somebody takes a range before it arrives. A store that had sent it again
// would give that range out twice: the second attempt is done, somebody takes exactly that rest,
// and then the first one arrives.
func delayedReturn(d *Database) {
	other := d.Create("aba", 1)
	s, p := d.behind()
	d.WantTake(s, "aba", 1)
	held := proxytest.NewHeld(func(request []byte) bool {
		return bytes.Contains(request, []byte("UPDATE")) && bytes.Contains(request, []byte("max_id = 11"))
	})
	p.HoldBack(held)
	done, err := s.GiveBack(d.Within(), "aba", segment.Range{First: 6, Last: 10})
	<-held.Caught()
	if done || err == nil {
		d.Errorf("GiveBack whose connection was lost: %v, %v; want an unknown outcome", done, err)
	}
	a, err := other.Take(d.Within(), "aba", 5)
	if err != nil {
		d.Fatal(err)
	}
	if err := held.Deliver(); err != nil {
		d.Fatal(err)
	}
	streamtest.Eventually(d, "the server has answered", func() bool { return held.Answer() != "" })
	d.Do(d.Idle)
	b, err := other.Take(d.Within(), "aba", 5)
	if err != nil || b.First <= a.Last {
		safetytest.Unless(d, err).Errorf("%v was handed out, and then %v, %v", a, b, err)
	}
}

// races has takes fail as in a dead lock: what was not done is done again.
func races(d *Database) {
	s := d.Create("races", 1)
	d.Do(d.Race...)
	defer d.Do(d.Calm)
	for i := range int64(10) {
		d.WantTake(s, "races", 1+10*i)
	}
}

// hangingLook has the first call of a store meet a server that does not answer, and never end:
// other calls end with their contexts all the same.
func hangingLook(d *Database) {
	s, p := d.behind()
	p.Hang()
	forever, give := context.WithCancel(d.Context())
	first, second := make(chan error, 1), make(chan error, 1)
	go func() { _, err := s.Tags(forever); first <- err }()
	streamtest.Eventually(d, "it is under way", func() bool { return p.Connections() > 0 })
	ctx, cancel := context.WithTimeout(d.Context(), 500*time.Millisecond)
	defer cancel()
	go func() { second <- take(ctx, s, "look", 10) }()
	select {
	case err := <-second:
		d.WantErr("Take while the server hangs", err, context.DeadlineExceeded, "")
	case <-time.After(15 * time.Second):
		d.Error("Take with a context of 500 ms has not returned after 15 s")
	}
	give()
	if err := <-first; err == nil {
		d.Error("the tags of a server that hangs were read")
	}
}
