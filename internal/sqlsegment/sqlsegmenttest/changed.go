package sqlsegmenttest

import (
	"errors"
	"testing"

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

// advance raises a tag with a program of its own, as somebody does.
func (d *Database) advance(tag string, to int64) {
	d.Helper()
	if err := d.Store().Advance(d.Within(), tag, to); err != nil {
		d.Fatal(err)
	}
}

// moved is about another server: a program that starts on another server than the one on record
// takes nothing there, until somebody has advanced the tag.
func moved(d *Database) {
	d.Create("moved", 1)
	d.Create("other", 1)
	d.Do(away)
	s := d.Store()
	_, err := s.Take(d.Within(), "moved", 10)
	var changed *segment.StoreChangedError
	if !errors.As(err, &changed) || changed.Was != "elsewhere" || changed.Here == "" {
		safetytest.Unless(d, err).Fatalf("Take on another server: %v", err)
	}
	if done, _ := s.GiveBack(d.Within(), "moved", segment.Range{}); done {
		safetytest.Of(d).Error("something was given back on another server")
	}
	d.advance("moved", 1000)
	d.WantTake(s, "moved", 1000)
	d.WantTake(d.Store(), "moved", 1010)
	d.WantRefused(s, "other", segment.ErrStoreChanged, "")
	d.advance("other", 1) // to where it is suffices
	d.WantTake(s, "other", 1)
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
	r.wantAbove(there, r.last+100)
}

// setBack sets the row of a tag back, as restoring a dump does, to above what one sequence has and
// below what another one of the same program has: neither uses what is below, and nothing more is
// taken until somebody has advanced the tag.
func setBack(d *Database) {
	store := d.Create("back", 1)
	low, high := d.takes(store, "back"), d.takes(store, "back")
	high.want(100)
	d.Do("UPDATE leaf_alloc SET max_id = 60 WHERE biz_tag = 'back'")
	d.WantErr("Next", low.refusal(), segment.ErrWentBack, "")
	for range 3 { // whoever begins anew is refused as well, and the attempts do not raise the row
		_, err := segment.New(d.Within(), store, "back", segment.Config{MaxStep: 10})
		d.WantErr("New", err, segment.ErrWentBack, "")
	}
	if n := d.Next("back"); n > 70 { // of two that tried at the same moment, one is put back
		safetytest.Of(d).Errorf("max_id is %d; want 60, or 70, as nothing was taken", n)
	}
	low.wantAbove(d, 5000)
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

// wantAbove advances the tag, and wants numbers from there on.
func (r *taker) wantAbove(d *Database, to int64) {
	r.Helper()
	d.advance(r.Tag(), to)
	streamtest.Eventually(r, "it goes on", func() bool { return r.next() == nil })
	if r.last < to {
		safetytest.Of(r).Errorf("it goes on with %d", r.last)
	}
}
