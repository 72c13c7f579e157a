package sqlsegmenttest

import (
	"bytes"
	"errors"
	"os/exec"
	"testing"

	"github.com/unalike-id/unalike/internal/testserver/numbertest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
	"github.com/unalike-id/unalike/segment"
)

// Dumps are the database's own programs: Dump prints what both tables of a server hold, and Restore reads that and puts
// it in place of what is there.
type Dumps struct {
	Dump, Restore func(tb testing.TB, d *Database) *exec.Cmd
}

// dump returns what a server holds.
func (p Dumps) dump(tb testing.TB, d *Database) []byte {
	tb.Helper()
	return output(tb, p.Dump(tb, d), nil)
}

// restore puts it into a server.
func (p Dumps) restore(tb testing.TB, d *Database, dump []byte) {
	tb.Helper()
	output(tb, p.Restore(tb, d), dump)
}

// output runs a program and returns what it prints.
func output(tb testing.TB, cmd *exec.Cmd, input []byte) []byte {
	tb.Helper()
	var problem bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(input), &problem
	out, err := cmd.Output()
	if err != nil {
		tb.Fatalf("%s: %v\n%s", cmd.Args[0], err, &problem)
	}
	return out
}

// Dumped restores a dump of d, there and in another server.
func Dumped(t *testing.T, d, there *Database, dumps Dumps) {
	restored(t, d, dumps)
	carried(t, d, there, dumps)
}

// restored restores a dump while a program runs: it refuses what it gets then and takes nothing more, and it goes on above all numbers when somebody has advanced
// the tag, as does a program that begins then.
func restored(t *testing.T, d *Database, dumps Dumps) {
	s, err := segment.New(within(t), d.create(t, "dumped", 10), "dumped", segment.Config{MaxStep: 10})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(within(t))
	rising := &numbertest.Rising{Sequence: s}
	rising.Want(t, 25)
	dump := dumps.dump(t, d)
	rising.Want(t, 70)
	streamtest.Eventually(t, "the next segment is there", func() bool { return s.Health().Next.Len() > 0 })
	dumps.restore(t, d, dump)
	if err := rising.Refusal(t); !errors.Is(err, segment.ErrWentBack) {
		t.Fatalf("Next after a dump was restored: %v after %d", err, rising.Used)
	}
	if err := d.Open(t, &Wire{}, 0).Advance(within(t), "dumped", rising.Used+1000); err != nil {
		t.Fatal(err)
	}
	above := rising.Used + 999
	if r, err := d.Open(t, &Wire{}, 0).Take(within(t), "dumped", 10); err != nil || r.First <= above {
		t.Errorf("Take by a program that begins then: %v, %v; want more than %d", r, err, above)
	}
	streamtest.Eventually(t, "it goes on", func() bool { return rising.Next(t) == nil })
	if rising.Used <= above {
		t.Errorf("it goes on with %d; want more than %d", rising.Used, above)
	}
}

// carried restores a dump of d into another server: a program that begins there takes nothing of any tag, until somebody has advanced it.
func carried(t *testing.T, d, there *Database, dumps Dumps) {
	s := d.create(t, "carried", 10)
	wantTake(t, s, "carried", 1)
	dump := dumps.dump(t, d)
	wantTake(t, s, "carried", 11) // the dump does not have it
	dumps.restore(t, there, dump)
	moved := there.Open(t, &Wire{}, 0)
	if r, err := moved.Take(within(t), "carried", 10); !errors.Is(err, segment.ErrStoreChanged) {
		t.Errorf("Take from a dump on another server: %v, %v", r, err)
	}
	if err := moved.Advance(within(t), "carried", 21); err != nil {
		t.Fatal(err)
	}
	wantTake(t, moved, "carried", 21)
}
