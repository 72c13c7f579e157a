package verdict

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/faults/journal"
	"github.com/unalike-id/unalike/internal/testserver/fulltest"
)

// book is a journal that a test writes.
type book struct {
	header journal.Header
	ids    []core.ID
	damage func(path string) error // afterwards; nil: none
}

// layout has 8 worker IDs and 16 sequence numbers, so that random IDs meet.
func layout() core.Layout {
	l := core.DefaultLayout()
	l.WorkerBits, l.SequenceBits = 3, 4
	return l
}

func id(tick, worker, sequence int64) core.ID { return core.ID(tick<<7 | worker<<4 | sequence) }

// of returns a journal of a generator which is named after its number.
func of(generator int, ids ...core.ID) book {
	return book{header: journal.Header{Generator: fmt.Sprint("g", generator), PID: 100 + generator, Layout: layout()}, ids: ids}
}

// write makes the journals.
func write(t *testing.T, books []book) []*journal.Reader {
	t.Helper()
	dir := t.TempDir()
	var out []*journal.Reader
	for i, b := range books {
		path := filepath.Join(dir, fmt.Sprint(i))
		w, err := journal.Create(path, b.header)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Add(b.ids); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if b.damage != nil {
			if err := b.damage(path); err != nil {
				t.Fatal(err)
			}
		}
		r, err := journal.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = r.Close() })
		out = append(out, r)
	}
	return out
}

var checkers = map[string]func([]*journal.Reader) (Verdict, error){"Merge": Merge, "Bitmap": Bitmap}

// run returns n consecutive IDs.
func run(first core.ID, n int) []core.ID {
	var out []core.ID
	for i := range n {
		out = append(out, first+core.ID(i))
	}
	return out
}

func TestSoundJournals(t *testing.T) {
	// A window ends in tick 3 and the next generator begins above it.
	books := []book{
		of(1, append(run(id(1, 2, 0), 16), run(id(3, 2, 0), 5)...)...),
		of(1, run(id(1, 3, 5), 4)...),                                   // another goroutine of it
		of(1, append(run(id(3, 2, 5), 3), id(9, 2, 0), id(9, 3, 0))...), // and one more
		of(2, append(run(id(4, 2, 0), 16), run(id(2, 4, 0), 16)...)...),
		of(3),
	}
	for name, check := range checkers {
		v, err := check(write(t, books))
		if err != nil || v.IDs != 62 || v.Duplicates != 0 || len(v.Findings) != 0 {
			t.Errorf("%s: %+v, %v", name, v, err)
		}
	}
}

func TestNothingToCheckIsAnError(t *testing.T) {
	for name, check := range checkers {
		if _, err := check(nil); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// change overwrites a byte of a file.
func change(at int64) func(string) error {
	return func(path string) error {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		var b [1]byte
		if _, err := f.ReadAt(b[:], at); err != nil {
			return err
		}
		b[0] ^= 1
		_, err = f.WriteAt(b[:], at)
		return err
	}
}

func TestPlantedFaults(t *testing.T) {
	sound := of(1, append(run(id(1, 2, 0), 16), run(id(3, 2, 0), 5)...)...)
	with := func(b book, change func(*book)) book {
		change(&b)
		return b
	}
	for _, c := range []struct {
		name  string
		books []book
		want  map[string]uint64
		text  string // of the first finding of Merge
	}{
		{"one ID inside a long run", []book{sound, of(2, id(1, 2, 9))}, map[string]uint64{Duplicate: 1, SharedTick: 1}, `ID 169 (2024-01-01T00:00:00.001Z, worker ID 2, sequence 9)`},
		{"one ID twice in a journal", []book{of(1, id(1, 2, 3), id(1, 2, 3))}, map[string]uint64{Duplicate: 1, Order: 1}, ""},
		{"one ID twice in journals of a generator", []book{sound, of(1, id(3, 2, 4))}, map[string]uint64{Duplicate: 1}, ""},
		{"a run inside another", []book{sound, of(2, run(id(1, 2, 3), 7)...)}, map[string]uint64{Duplicate: 7, SharedTick: 1}, ""},
		{"runs that overlap", []book{of(1, run(id(1, 2, 0), 9)...), of(2, run(id(1, 2, 5), 9)...)}, map[string]uint64{Duplicate: 4, SharedTick: 1}, ""},
		{"an ID three times", []book{sound, of(2, id(1, 2, 9)), of(3, id(1, 2, 9))}, map[string]uint64{Duplicate: 2, SharedTick: 1}, ""},
		{"two inside a long run", []book{sound, of(2, id(1, 2, 3)), of(3, id(1, 2, 9))}, map[string]uint64{Duplicate: 2, SharedTick: 1}, ""},
		{"the same journal twice", []book{sound, sound}, map[string]uint64{Duplicate: 21}, ""},
		{"two generators in a tick", []book{sound, of(2, id(3, 2, 9))}, map[string]uint64{SharedTick: 1}, `generator "g1" (process 101, `},
		{"three generators in a tick", []book{sound, of(2, id(3, 2, 9)), of(3, id(3, 2, 10), id(1, 7, 0)), of(4, id(1, 7, 3))}, map[string]uint64{SharedTick: 2}, ""},
		{"a later ID first", []book{of(1, id(5, 2, 0), id(4, 2, 0), id(6, 2, 0))}, map[string]uint64{Order: 1}, "after ID"},
		{"order between worker IDs", []book{of(1, id(5, 2, 0), id(4, 3, 0))}, nil, ""},
		{"an ID with too many bits", []book{of(1, layout().MaxID()+1)}, map[string]uint64{Range: 1}, "has issued ID"},
		{"a negative ID", []book{of(1, -5)}, map[string]uint64{Range: 1}, "has issued ID -5"},
		{"a worker ID above the share", []book{with(sound, func(b *book) { b.header.Workers = coord.Range{First: 0, Count: 2} })}, map[string]uint64{Range: 2}, "worker IDs are 0-1"},
		{"a worker ID below the share", []book{with(sound, func(b *book) { b.header.Workers = coord.Range{First: 3} })}, map[string]uint64{Range: 2}, ""},
		{"another layout", []book{sound, with(of(2, id(3, 2, 9)), func(b *book) { b.header.Layout = core.DefaultLayout() })}, map[string]uint64{BadHeader: 1}, "has layout"},
		{"duplicates across layouts", []book{sound, with(of(2, id(3, 2, 4)), func(b *book) { b.header.Layout = core.DefaultLayout() })}, map[string]uint64{BadHeader: 1, Duplicate: 1}, ""},
		{"another epoch", []book{sound, with(of(2), func(b *book) { b.header.Layout.Epoch = b.header.Layout.Epoch.Add(time.Second) })}, map[string]uint64{BadHeader: 1}, ""},
		{"a name of two processes", []book{sound, with(of(2), func(b *book) { b.header.Generator = "g1" })}, map[string]uint64{BadHeader: 1}, "has the name of"},
		{"a truncated file", []book{sound, with(of(2, id(9, 2, 0)), func(b *book) { b.damage = func(p string) error { return os.Truncate(p, 4096) } })}, map[string]uint64{Damaged: 1}, "damaged file"},
		{"a changed run", []book{with(sound, func(b *book) { b.damage = change(4096 + 8) })}, map[string]uint64{Damaged: 1}, "damaged file"},
	} {
		for name, check := range checkers {
			v, err := check(write(t, c.books))
			if err != nil {
				t.Errorf("%s: %s: %v", c.name, name, err)
				continue
			}
			if !maps.Equal(v.Found, c.want) || v.Duplicates != c.want[Duplicate] || (len(c.want) == 0) != (len(v.Findings) == 0) {
				t.Errorf("%s: %s: %+v; want %v", c.name, name, v, c.want)
			}
			if name == "Merge" && len(v.Findings) > 0 && !strings.Contains(v.Findings[0].Text, c.text) {
				t.Errorf("%s: %q does not have %q", c.name, v.Findings[0].Text, c.text)
			}
		}
	}
}

func TestFindingsAreFew(t *testing.T) {
	var ids []core.ID
	for tick := range int64(100) {
		ids = append(ids, id(tick, 1, 3))
	}
	for name, check := range checkers {
		v, err := check(write(t, []book{of(1, ids...), of(2, ids...)}))
		if err != nil || v.Duplicates != 100 || v.Found[SharedTick] != 100 || len(v.Findings) != 2*shown {
			t.Errorf("%s: %+v, %v", name, v, err)
		}
	}
}

// naive counts faults one ID at a time.
func naive(books []book) (ids uint64, found map[string]uint64) {
	found = map[string]uint64{}
	seen := map[core.ID]bool{}
	generators := map[core.ID]map[string]bool{}
	for _, b := range books {
		last := map[core.ID]core.ID{}
		for _, id := range b.ids {
			ids++
			tick, worker := id>>4, id>>4&7
			if seen[id] {
				found[Duplicate]++
			}
			seen[id] = true
			if generators[tick] == nil {
				generators[tick] = map[string]bool{}
			}
			generators[tick][b.header.Generator] = true
			if before, ok := last[worker]; ok && id <= before {
				found[Order]++
			}
			last[worker] = id
		}
	}
	for _, g := range generators {
		if len(g) > 1 {
			found[SharedTick]++
		}
	}
	return ids, found
}

// random returns journals of generators that mostly keep to ticks of their own.
func random(r *rand.Rand) []book {
	var books []book
	clashes := []int{0, 3, 60}[r.IntN(3)] // of 100
	for g := range 1 + r.IntN(4) {
		for range 1 + r.IntN(2) {
			b := of(g)
			next := int64(0)
			for range r.IntN(60) {
				tick, worker := next*4+int64(g), r.Int64N(8)
				if r.IntN(100) < clashes {
					tick, worker = r.Int64N(20), r.Int64N(3)
				}
				sequence := r.Int64N(16)
				b.ids = append(b.ids, run(id(tick, worker, sequence), 1+r.IntN(int(16-sequence)))...)
				next++
			}
			books = append(books, b)
		}
	}
	return books
}

// TestCheckersAgree compares both checkers with a map, on journals with few faults or many.
func TestCheckersAgree(t *testing.T) {
	faulty := 0
	for seed := range fulltest.Rounds(300, 20_000) {
		books := random(rand.New(rand.NewPCG(uint64(seed), 7)))
		ids, want := naive(books)
		if len(want) > 0 {
			faulty++
		}
		readers := write(t, books)
		for name, check := range checkers {
			v, err := check(readers)
			if err != nil || v.IDs != ids || v.Duplicates != want[Duplicate] || len(v.Found) != len(want) || !maps.Equal(v.Found, want) && len(want) > 0 {
				t.Fatalf("seed %d: %s: %+v, %v; a map finds %v in %d IDs", seed, name, v, err, want, ids)
			}
		}
		for _, r := range readers {
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if faulty < 50 {
		t.Errorf("%d journals had faults", faulty)
	}
}

// full writes a journal of a generator at full speed: all IDs of each tick. In the middle
// there is a foreign ID as well.
func full(t *testing.T, generator, ticks int, foreign ...core.ID) *journal.Reader {
	t.Helper()
	path := filepath.Join(t.TempDir(), "journal")
	w, err := journal.Create(path, journal.Header{Generator: fmt.Sprint(generator), PID: generator, Layout: core.DefaultLayout()})
	if err != nil {
		t.Fatal(err)
	}
	ids := make([]core.ID, 4096)
	for tick := range ticks {
		for i := range ids {
			ids[i] = core.ID(tick<<22 | generator<<12 | i)
		}
		if err := w.Add(ids); err != nil {
			t.Fatal(err)
		}
		if tick == ticks/2 {
			if err := w.Add(foreign); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := journal.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// TestManyIDs finds the one duplicate among as many IDs as a long scenario has.
func TestManyIDs(t *testing.T) {
	ticks := fulltest.Rounds(2_000, 125_000) // 16 million IDs; a billion
	readers := []*journal.Reader{full(t, 1, ticks), full(t, 2, ticks, core.ID(1000<<22|1<<12|77))}
	for name, check := range checkers {
		began := time.Now()
		v, err := check(readers)
		if err != nil || v.IDs != uint64(2*ticks*4096)+1 || !maps.Equal(v.Found, map[string]uint64{Duplicate: 1, SharedTick: 1}) {
			t.Errorf("%s: %+v, %v", name, v, err)
		}
		t.Logf("%s: %d IDs in %v", name, v.IDs, time.Since(began).Round(time.Millisecond))
	}
}
