package sqlsegmenttest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/unalike-id/unalike/internal/safetytest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
	"github.com/unalike-id/unalike/segment"
)

// away makes the server another one than that on record.
const away = "UPDATE unalike_meta SET identity = 'elsewhere', stamp = stamp + 1 " +
	"WHERE name = 'leaf_alloc'"

// elsewhere has another server have said last where a tag is.
func elsewhere(tag string) string {
	return "INSERT INTO unalike_meta SELECT 'leaf_alloc:" + tag +
		"', 'elsewhere', MAX(stamp) + 1000000 FROM unalike_meta"
}

// raise raises all tags with a program of its own, as somebody does.
func (d *Database) raise(by int64) {
	d.Helper()
	if err := d.Store().AdvanceAll(d.Within(), by); err != nil {
		d.Fatal(err)
	}
}

// advance raises a tag with a program of its own, as somebody does.
func (d *Database) advance(tag string, to int64) {
	d.Helper()
	if err := d.Store().Advance(d.Within(), tag, to); err != nil {
		d.Fatal(err)
	}
}

// moved is about another server: a program that starts on another server than the one on record
// takes nothing there, nor does any other one, until somebody has raised all tags.
func moved(d *Database) {
	here := d.Create("moved", 1)
	d.Create("other", 1)
	d.WantTake(here, "other", 1)
	d.Do(away)
	s := d.Store()
	_, err := s.Take(d.Within(), "moved", 10)
	var changed *segment.StoreChangedError
	if !errors.As(err, &changed) || changed.Was != "elsewhere" || changed.Here == "" {
		safetytest.Unless(d, err).Fatalf("Take on another server: %v", err)
	}
	if done, _ := s.GiveBack(d.Within(), "moved", segment.Range{First: 0, Last: 0}); done {
		safetytest.Of(d).Error("something was given back on another server")
	}
	d.WantErr("Advance", s.Advance(d.Within(), "moved", 1000), segment.ErrStoreChanged, "elsewhere")
	// Replication brings what the other one has recorded to the first server, which has it by its
	// name.
	d.WantRefused(here, "other", segment.ErrStoreChanged, "elsewhere")
	d.WantRefused(d.Store(), "other", segment.ErrStoreChanged, "elsewhere")
	next := d.Next("moved")
	d.raise(1000)
	d.WantTake(s, "moved", next+1000)
	d.WantTake(d.Store(), "moved", next+1010)
	d.WantTake(here, "other", 1011)
}

// restored is a database that went back as a whole: every program refuses, running or new, until
// somebody has raised all tags, also where their own rows are above what they have had.
func restored(d *Database) {
	s := d.Create("restored", 1)
	d.WantTake(s, "restored", 1)
	d.Do("UPDATE unalike_meta SET stamp = stamp + 5 WHERE name = 'leaf_alloc!minutes'")
	d.WantTake(s, "restored", 11)
	d.Do("UPDATE unalike_meta SET stamp = stamp - 1 WHERE name = 'leaf_alloc!minutes'")
	d.WantRefused(s, "restored", segment.ErrStoreChanged, "/6")
	d.WantRefused(d.Open(d, d.Addr, 5000), "restored", segment.ErrStoreChanged, "/6")
	d.raise(100)
	d.WantTake(s, "restored", 121)
	d.WantTake(d.Store(), "restored", 131)
}

// lost are tags that programs have made, and that a failover has lost: they are made again above
// what can have been handed out, and those whose numbers begin later begin at 1.
func lost(d *Database) {
	d.Create("lost", 1)
	d.Do(away)
	d.WantTake(d.Open(d, d.Addr, 5000), "lost", 5001)
	s := d.Store()
	today := time.Now().UTC()
	for i, c := range []struct {
		since time.Time
		first int64
	}{
		{time.Unix(0, 0), 5001},
		{today, 5001},
		{today.AddDate(0, 0, 3), 1},
		{time.Time{}, 1},
	} {
		tag := fmt.Sprint("lost", i)
		err := s.Create(d.Within(), segment.Tag{Name: tag, Next: 1, Step: 10, Since: c.since})
		if err != nil {
			d.Fatal(err)
		}
		first := d.Next(tag)
		if c.first == 1 && first != 1 || first < c.first {
			d.Errorf("a tag of since %v begins at %d; want %d", c.since, first, c.first)
		}
	}
}

// inFlight has the record change while a take waits for the row: what is recorded counts.
func inFlight(d *Database) {
	s := d.Create("flight", 1)
	d.WantTake(s, "flight", 1)
	tx, err := d.SQL.BeginTx(d.Context(), nil)
	if err != nil {
		d.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	_, err = tx.ExecContext(d.Context(), "UPDATE leaf_alloc SET step = 11 WHERE biz_tag = 'flight'")
	if err != nil {
		d.Fatal(err)
	}
	result := make(chan error, 1)
	go func() { result <- take(d.Within(), s, "flight", 10) }()
	streamtest.Eventually(d, "the take waits", func() bool { return d.Int("%s", d.Waits) > 0 })
	d.Do(away)
	if err := tx.Commit(); err != nil {
		d.Fatal(err)
	}
	d.WantErr("Take", <-result, segment.ErrStoreChanged, "elsewhere")
	if n := d.Next("flight"); n != 11 {
		safetytest.Of(d).Errorf("max_id is %d; want 11", n)
	}
	d.raise(0)
}

// failedBack is about the first server, which is promoted again after another one was: what that
// one has recorded for a tag has arrived here, and maybe less than it has handed out. Neither a
// program that begins here takes any of the tag, nor one that was here all the time, until somebody
// has advanced it.
func failedBack(d *Database) {
	stayed := d.Create("failedback", 1)
	d.WantTake(stayed, "failedback", 1)
	d.Do(elsewhere("failedback"))
	d.WantRefused(d.Store(), "failedback", segment.ErrStoreChanged, "")
	d.WantRefused(stayed, "failedback", segment.ErrStoreChanged, "")
	d.advance("failedback", 1000)
	d.WantTake(stayed, "failedback", 1000)
	d.WantTake(d.Store(), "failedback", 1010)
}

// skipped is about the option that adds to every tag, once for all programs.
func skipped(d *Database) {
	d.Do("INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('skipped', 1, 10)", away)
	a, b, refusing := d.Open(d, d.Addr, 5000), d.Open(d, d.Addr, 5000), d.Store()
	d.WantRefused(refusing, "skipped", segment.ErrStoreChanged, "")
	d.WantTake(a, "skipped", 5001)
	d.WantTake(b, "skipped", 5011)
	d.WantTake(refusing, "skipped", 5021) // it learns of it
	d.WantTake(d.Open(d, d.Addr, 5000), "skipped", 5031)
	// What the programs here have had is lost in part, and all of them notice at the same time.
	d.Do("UPDATE leaf_alloc SET max_id = 5005 WHERE biz_tag = 'skipped'", away)
	var running sync.WaitGroup
	for _, s := range []Store{a, b, d.Open(d, d.Addr, 5000), d.Open(d, d.Addr, 5000)} {
		running.Go(func() { d.WantErr("Take", take(d.Within(), s, "skipped", 10), nil, "") })
	}
	running.Wait()
	if n := d.Next("skipped"); n != 10045 {
		d.Errorf("max_id is %d after four takes; want 10045", n)
	}
}

// raisedToEnd raises all tags by as much as there is: they are exhausted, and others go on.
func raisedToEnd(d *Database) {
	s := d.Create("end", 1)
	d.WantTake(s, "end", 1)
	d.raise(math.MaxInt64)
	d.WantRefused(s, "end", segment.ErrExhausted, "")
	d.raise(0)
	d.WantTake(d.Create("after end", 1), "after end", 1)
	d.WantRefused(s, "end", segment.ErrExhausted, "")
}

// servers are those of a cluster, in any order: a record names one of them, or some. A record with
// long names is replaced by a refusal all the same.
func servers(d *Database) {
	d.Create("cluster", 1)
	here := d.Text("SELECT identity FROM unalike_meta WHERE name = 'leaf_alloc'")
	of := func(names string) segment.Store { return d.opened("?servers=" + url.QueryEscape(names)) }
	two, three := of(here+",other"), of("third,other,"+here)
	d.WantTake(two, "cluster", 1)
	d.WantTake(three, "cluster", 11)
	record := "UPDATE unalike_meta SET stamp = stamp + 1, identity = '%s' WHERE name = 'leaf_alloc'"
	d.Do(fmt.Sprintf(record, "other,"+here))
	d.WantTake(three, "cluster", 21)
	d.WantTake(two, "cluster", 31)
	d.Do(fmt.Sprintf(record, strings.Repeat("long", 98)))
	d.WantRefused(d.Store(), "cluster", segment.ErrStoreChanged, "long")
	refusals := "SELECT COUNT(*) FROM unalike_meta WHERE identity LIKE 'refused, another%'"
	if d.Int("%s", refusals) != 1 {
		d.Error("the refusal is not on record")
	}
	d.raise(0)
}

// lateAnswers has the minutes rise while one program takes ranges of two tags: that one answer
// comes after a newer one is no sign that the database went back.
func lateAnswers(d *Database) {
	d.Create("late", 1)
	d.Do("UPDATE leaf_alloc SET max_id = 9223372036854775807 WHERE biz_tag = 'late'")
	s := d.opened("")
	d.Create("prompt", 1)
	stop, end := context.WithCancel(d.Context())
	var running sync.WaitGroup
	for range 8 {
		running.Go(func() {
			for stop.Err() == nil {
				_ = take(stop, s, "late", 10)
			}
		})
	}
	for i := range int64(200) {
		d.Do("UPDATE unalike_meta SET stamp = stamp + 1 WHERE name = 'leaf_alloc!minutes'")
		d.WantTake(s, "prompt", 1+10*i)
		if d.Failed() {
			break
		}
	}
	end()
	running.Wait()
	d.raise(0)
}

// Promoted is called with a program's wire, which leads to the first server. Promote ends that and
// makes a replica take over that lacks the last ranges, and returns the database that it is. The
// program notices, and goes on when somebody has advanced the tag.
func (d *Database) Promoted(cut func(), promote func() *Database) {
	d.Create("promoted", 1)
	store, p := d.behind()
	r := d.takes(store, "promoted")
	cut()
	r.want(25)
	there := promote()
	p.Lead(there.Addr)
	d.WantErr("Next on a replica that was promoted", r.refusal(), segment.ErrStoreChanged, "")
	d.WantRefused(there.Store(), "promoted", segment.ErrStoreChanged, "")
	there.raise(1000)
	r.wantFrom(1000)
}

// setBack sets the row of a tag back, as restoring a row does, to above what one program has and
// below what another one has. The latter notices it, and then nobody takes any of the tag until
// somebody has advanced it, nor is the row raised. Other tags go on.
func setBack(d *Database) {
	store, other := d.Create("back", 1), d.Create("forth", 1)
	low, high := d.takes(other, "back"), d.takes(store, "back")
	high.want(100)
	d.Do("UPDATE leaf_alloc SET max_id = 60 WHERE biz_tag = 'back'")
	d.WantRefused(store, "back", segment.ErrWentBack, "")
	d.WantErr("Next", low.refusal(), segment.ErrWentBack, "")
	for range 3 { // whoever begins anew is refused as well
		_, err := segment.New(d.Within(), d.Store(), "back", segment.Config{MaxStep: 10})
		d.WantErr("New", err, segment.ErrWentBack, "")
	}
	if n := d.Next("back"); n != 60 {
		safetytest.Of(d).Errorf("max_id is %d; want 60, as nothing was taken", n)
	}
	d.WantTake(d.Store(), "forth", 1)
	d.advance("back", 5000)
	low.wantFrom(5000)
	high.wantFrom(5000)
}

// taker takes the numbers of a sequence one by one, and sees to it that they rise.
type taker struct {
	testing.TB
	*segment.Sequence
	last int64
}

// takes returns a taker of a tag that ends with the test.
func (d *Database) takes(store segment.Store, tag string) *taker {
	d.Helper()
	s, err := segment.New(d.Within(), store, tag, segment.Config{MaxStep: 10})
	if err != nil {
		d.Fatal(err)
	}
	d.Cleanup(func() { _ = s.Close(d.Within()) })
	return &taker{TB: d, Sequence: s}
}

// next takes a number and returns why there is none.
func (r *taker) next() error {
	r.Helper()
	n, err := r.Next()
	if err == nil && n <= r.last {
		safetytest.Unless(r, err).Fatalf("after %d came %d", r.last, n)
	}
	r.last = max(r.last, n)
	return err
}

// want takes so many numbers.
func (r *taker) want(count int) {
	r.Helper()
	for range count {
		if err := r.next(); err != nil {
			r.Fatal(err)
		}
	}
}

// refusal takes numbers until there is none, and returns why. Nil: they go on up to 1000.
func (r *taker) refusal() (err error) {
	r.Helper()
	for err == nil && r.last < 1000 {
		err = r.next()
	}
	return err
}

// wantFrom wants numbers from there on, after those in memory.
func (r *taker) wantFrom(first int64) {
	r.Helper()
	streamtest.Eventually(r, "it goes on", func() bool { return r.next() == nil && r.last >= first })
}
