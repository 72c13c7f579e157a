package sqlsegmenttest

import (
	"errors"
	"testing"

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
func advance(tb testing.TB, d *Database, tag string, to int64) {
	tb.Helper()
	if err := d.Store(tb).Advance(Within(tb), tag, to); err != nil {
		tb.Fatal(err)
	}
}

// moved is about another server: a program that starts on another server than the one on record
// takes nothing there, until somebody has advanced the tag.
func moved(t *testing.T, d *Database) {
	d.Create(t, "moved", 1)
	d.Create(t, "other", 1)
	d.Do(t, away)
	s := d.Store(t)
	_, err := s.Take(Within(t), "moved", 10)
	var changed *segment.StoreChangedError
	if !errors.As(err, &changed) || changed.Was != "elsewhere" || changed.Here == "" {
		t.Fatalf("Take on another server: %v", err)
	}
	if done, _ := s.GiveBack(Within(t), "moved", segment.Range{}); done {
		t.Error("something was given back on another server")
	}
	advance(t, d, "moved", 1000)
	WantTake(t, s, "moved", 1000)
	WantTake(t, d.Store(t), "moved", 1010)
	WantRefused(t, s, "other", segment.ErrStoreChanged, "")
	advance(t, d, "other", 1) // to where it is suffices
	WantTake(t, s, "other", 1)
}

// failedBack is about the first server, which is promoted again after another one was: what that
// one has recorded for a tag has arrived here, and maybe less than it has handed out. Neither a
// program that begins here takes any of the tag, nor one that was here all the time, until somebody
// has advanced it.
func failedBack(t *testing.T, d *Database) {
	stayed := d.Create(t, "failedback", 1)
	WantTake(t, stayed, "failedback", 1)
	d.Do(t, elsewhere("failedback"))
	WantRefused(t, d.Store(t), "failedback", segment.ErrStoreChanged, "")
	WantRefused(t, stayed, "failedback", segment.ErrStoreChanged, "")
	advance(t, d, "failedback", 1000)
	WantTake(t, stayed, "failedback", 1000)
	WantTake(t, d.Store(t), "failedback", 1010)
}

// skipped is about the option that adds to every tag, once for all programs.
func skipped(t *testing.T, d *Database) {
	d.Do(t, "INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('skipped', 1, 10)", away)
	a, b, refusing := d.Open(t, d.Addr, 5000), d.Open(t, d.Addr, 5000), d.Store(t)
	WantRefused(t, refusing, "skipped", segment.ErrStoreChanged, "")
	WantTake(t, a, "skipped", 5001)
	WantTake(t, b, "skipped", 5011)
	WantTake(t, refusing, "skipped", 5021) // it learns of it
	WantTake(t, d.Open(t, d.Addr, 5000), "skipped", 5031)
}

// Promoted is called with a program's wire, which leads to the first server. Promote ends that and
// makes a replica take over that lacks the last ranges, and returns the database that it is. The
// program notices, and goes on when somebody has advanced the tag.
func Promoted(t *testing.T, d *Database, cut func(), promote func() *Database) {
	d.Create(t, "promoted", 1)
	store, p := d.behind(t)
	r := takes(t, store, "promoted")
	cut()
	r.want(t, 25)
	there := promote()
	p.Lead(there.Addr)
	WantErr(t, "Next on a replica that was promoted", r.refusal(t), segment.ErrStoreChanged, "")
	WantRefused(t, there.Store(t), "promoted", segment.ErrStoreChanged, "")
	r.wantAbove(t, there, "promoted", r.last+100)
}

// setBack sets the row of a tag back, as restoring a dump does, to above what one sequence has and
// below what another one of the same program has: neither uses what is below, and nothing more is
// taken until somebody has advanced the tag.
func setBack(t *testing.T, d *Database) {
	store := d.Create(t, "back", 1)
	low, high := takes(t, store, "back"), takes(t, store, "back")
	high.want(t, 100)
	d.Do(t, "UPDATE leaf_alloc SET max_id = 60 WHERE biz_tag = 'back'")
	WantErr(t, "Next", low.refusal(t), segment.ErrWentBack, "")
	for range 3 { // whoever begins anew is refused as well, and the attempts do not raise the row
		_, err := segment.New(Within(t), store, "back", segment.Config{MaxStep: 10})
		WantErr(t, "New", err, segment.ErrWentBack, "")
	}
	if n := d.Next(t, "back"); n > 70 { // of two that tried at the same moment, one is put back
		t.Errorf("max_id is %d; want 60, or 70, as nothing was taken", n)
	}
	low.wantAbove(t, d, "back", 5000)
}

// taker takes the numbers of a sequence one by one, and sees to it that they rise.
type taker struct {
	*segment.Sequence
	last int64
}

// takes returns a taker of a tag that ends with the test.
func takes(t *testing.T, store segment.Store, tag string) *taker {
	t.Helper()
	s, err := segment.New(Within(t), store, tag, segment.Config{MaxStep: 10})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close(Within(t)) })
	return &taker{Sequence: s}
}

// next takes a number and returns why there is none.
func (r *taker) next(t *testing.T) error {
	t.Helper()
	n, err := r.Next()
	if err == nil && n <= r.last {
		t.Fatalf("after %d came %d", r.last, n)
	}
	r.last = max(r.last, n)
	return err
}

// want takes so many numbers.
func (r *taker) want(t *testing.T, count int) {
	t.Helper()
	for range count {
		if err := r.next(t); err != nil {
			t.Fatal(err)
		}
	}
}

// refusal takes numbers until there is none, and returns why. Nil: they go on up to 1000.
func (r *taker) refusal(t *testing.T) (err error) {
	t.Helper()
	for err == nil && r.last < 1000 {
		err = r.next(t)
	}
	return err
}

// wantAbove advances the tag, and wants numbers from there on.
func (r *taker) wantAbove(t *testing.T, d *Database, tag string, to int64) {
	t.Helper()
	advance(t, d, tag, to)
	streamtest.Eventually(t, "it goes on", func() bool { return r.next(t) == nil })
	if r.last < to {
		t.Errorf("it goes on with %d", r.last)
	}
}
