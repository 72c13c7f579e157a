package sqlsegmenttest

import (
	"errors"
	"testing"

	"github.com/unalike-id/unalike/internal/testserver/numbertest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
	"github.com/unalike-id/unalike/segment"
)

// Changed is about another server: a program that starts on another server than the one on record takes nothing there, until somebody has
// advanced the tag, or with an option that skips numbers once for all programs.
func Changed(t *testing.T, d *Database) {
	FailedBack(t, d)
	d.create(t, "moved", 10)
	d.create(t, "other", 10)
	d.Exec(t, "UPDATE unalike_meta SET identity = 'elsewhere'")
	s := d.Open(t, &Wire{}, 0)
	_, err := s.Take(within(t), "moved", 10)
	if changed := (*segment.StoreChangedError)(nil); !errors.As(err, &changed) || !errors.Is(err, segment.ErrStoreChanged) || changed.Was != "elsewhere" || changed.Here == "" {
		t.Fatalf("Take on another server: %v", err)
	}
	if done, _ := s.GiveBack(within(t), "moved", segment.Range{First: 0, Last: 0}); done {
		t.Error("something was given back on another server")
	}
	running, err := segment.New(within(t), d.Open(t, &Wire{}, 0), "moved", segment.Config{})
	if !errors.Is(err, segment.ErrStoreChanged) {
		t.Fatalf("New on another server: %v, %v", running, err)
	}
	// Somebody advances the tag, with a program of his own.
	if err := d.Open(t, &Wire{}, 0).Advance(within(t), "moved", 1000); err != nil {
		t.Fatal(err)
	}
	wantTake(t, s, "moved", 1000)
	wantTake(t, d.Open(t, &Wire{}, 0), "moved", 1010)
	if _, err := s.Take(within(t), "other", 10); !errors.Is(err, segment.ErrStoreChanged) {
		t.Errorf("Take of a tag that nobody has advanced: %v", err)
	}
	// To where it is suffices.
	if err := d.Open(t, &Wire{}, 0).Advance(within(t), "other", 1); err != nil {
		t.Fatal(err)
	}
	wantTake(t, s, "other", 1)
	Skipped(t, d)
}

// FailedBack is about the first server, which is promoted again after another one was: what that one has recorded for a tag has arrived here, and maybe less than
// it has handed out. Neither a program that begins here takes any of the tag, nor one that was here all the time, until somebody has advanced it.
func FailedBack(t *testing.T, d *Database) {
	stayed := d.create(t, "failedback", 10)
	wantTake(t, stayed, "failedback", 1)
	d.Exec(t, "INSERT INTO unalike_meta SELECT 'leaf_alloc:failedback', 'elsewhere', MAX(stamp) + 1000000 FROM unalike_meta")
	for name, s := range map[string]Store{"begins": d.Open(t, &Wire{}, 0), "stayed": stayed} {
		if r, err := s.Take(within(t), "failedback", 10); !errors.Is(err, segment.ErrStoreChanged) {
			t.Errorf("a program that %s takes %v, %v", name, r, err)
		}
	}
	if err := d.Open(t, &Wire{}, 0).Advance(within(t), "failedback", 1000); err != nil {
		t.Fatal(err)
	}
	wantTake(t, stayed, "failedback", 1000)
	wantTake(t, d.Open(t, &Wire{}, 0), "failedback", 1010)
}

// Skipped is about the option that adds to every tag, once for all programs.
func Skipped(t *testing.T, d *Database) {
	d.create(t, "skipped", 10)
	d.Exec(t, "UPDATE unalike_meta SET identity = 'elsewhere', stamp = stamp + 1")
	a, b, refusing := d.Open(t, &Wire{}, 5000), d.Open(t, &Wire{}, 5000), d.Open(t, &Wire{}, 0)
	if _, err := refusing.Take(within(t), "skipped", 10); !errors.Is(err, segment.ErrStoreChanged) {
		t.Errorf("Take without the option: %v", err)
	}
	wantTake(t, a, "skipped", 5001)
	wantTake(t, b, "skipped", 5011)
	wantTake(t, refusing, "skipped", 5021) // it learns of it
	wantTake(t, d.Open(t, &Wire{}, 5000), "skipped", 5031)
}

// Promoted is called with a program's wire, which leads to the first server. Promote ends that and makes a replica take over that
// lacks the last ranges, and returns the database that it is. The program notices, and goes on when somebody has advanced the tag.
func Promoted(t *testing.T, d *Database, cut func(), promote func() *Database) {
	d.create(t, "promoted", 10)
	w := (&Wire{}).To(d.Addr)
	s, err := segment.New(within(t), d.Open(t, w, 0), "promoted", segment.Config{MaxStep: 10})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(within(t))
	rising := &numbertest.Rising{Sequence: s}
	cut()
	rising.Want(t, 25)
	there := promote()
	w.To(there.Addr)
	if err := rising.Refusal(t); !errors.Is(err, segment.ErrStoreChanged) {
		t.Fatalf("Next on a replica that was promoted: %v after %d", err, rising.Used)
	}
	if _, err := there.Open(t, &Wire{}, 0).Take(within(t), "promoted", 10); !errors.Is(err, segment.ErrStoreChanged) {
		t.Errorf("Take by a program that begins there: %v", err)
	}
	if err := there.Open(t, &Wire{}, 0).Advance(within(t), "promoted", rising.Used+100); err != nil {
		t.Fatal(err)
	}
	streamtest.Eventually(t, "it goes on", func() bool { return rising.Next(t) == nil })
	if rising.Used < 100 {
		t.Errorf("it goes on with %d", rising.Used)
	}
}

// SetBack sets the row of a tag back, as restoring a dump does: a program that runs refuses what it gets then, takes nothing
// more, and goes on when somebody has advanced the tag.
func SetBack(t *testing.T, d *Database) {
	s, err := segment.New(within(t), d.create(t, "back", 10), "back", segment.Config{MaxStep: 10})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(within(t))
	if _, err := s.Fill(within(t), make([]int64, 95)); err != nil {
		t.Fatal(err)
	}
	rising := &numbertest.Rising{Sequence: s, Used: 95}
	streamtest.Eventually(t, "the next segment is there", func() bool { return s.Health().Next.Len() > 0 })
	d.Exec(t, "UPDATE leaf_alloc SET max_id = 50 WHERE biz_tag = 'back'")
	if err := rising.Refusal(t); !errors.Is(err, segment.ErrWentBack) {
		t.Fatalf("Next after the row was set back: %v after %d", err, rising.Used)
	}
	if err := d.Open(t, &Wire{}, 0).Advance(within(t), "back", 5000); err != nil {
		t.Fatal(err)
	}
	streamtest.Eventually(t, "it goes on", func() bool {
		return rising.Next(t) == nil && rising.Used == 5000
	})
}
