package journal

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
)

func header() Header {
	return Header{Generator: "a", PID: 7, Layout: core.DefaultLayout(), Workers: coord.Range{First: 1, Count: 5}}
}

// create makes a journal that is closed with the test.
func create(t *testing.T, h Header) (*Writer, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "journal")
	w, err := Create(path, h)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	return w, path
}

// open opens a journal until the test ends.
func open(t *testing.T, path string) *Reader {
	t.Helper()
	r, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func add(t *testing.T, w *Writer, ids ...core.ID) {
	t.Helper()
	if err := w.Add(ids); err != nil {
		t.Fatal(err)
	}
}

// ids returns all IDs of a journal in their order.
func ids(r *Reader) []core.ID {
	var out []core.ID
	for run := range r.Runs() {
		for i := range run.Count {
			out = append(out, run.First+core.ID(i))
		}
	}
	return out
}

func TestWhatIsAddedIsRead(t *testing.T) {
	w, path := create(t, header())
	r := open(t, path)
	if got := r.Header(); got.Layout.String() != header().Layout.String() || got.Generator != "a" || got.PID != 7 || got.Workers != header().Workers {
		t.Errorf("header %+v", got)
	}
	if r.Issued() != 0 || r.Last() != 0 || len(ids(r)) != 0 {
		t.Error("a new journal has IDs")
	}
	before := Now()
	add(t, w)
	add(t, w, 100, 101)
	add(t, w, 102)
	add(t, w, 90, 91, 200)
	after := Now()
	if got, want := ids(r), []core.ID{100, 101, 102, 90, 91, 200}; !slices.Equal(got, want) {
		t.Errorf("read %v, added %v", got, want)
	}
	runs := slices.Collect(r.Runs())
	if len(runs) != 3 || runs[0].Count != 3 {
		t.Errorf("runs %v", runs)
	}
	for _, run := range runs {
		if run.From < before || run.To < run.From || run.To > after {
			t.Errorf("run %+v was added between %d and %d", run, before, after)
		}
	}
	if r.Issued() != 6 || r.Last() != runs[2].To || r.Closed() {
		t.Errorf("issued %d, last %d, closed %v", r.Issued(), r.Last(), r.Closed())
	}
	if err := r.Check(); err != nil {
		t.Error(err)
	}
	if err := w.Close(); err != nil || !r.Closed() || r.Check() != nil {
		t.Errorf("closing: %v, closed %v, %v", err, r.Closed(), r.Check())
	}
	if w.Add([]core.ID{1}) == nil {
		t.Error("a closed journal takes IDs")
	}
}

func TestRunEndsWithItsTickAndWorkerID(t *testing.T) {
	w, path := create(t, header())
	add(t, w, 4094, 4095, 4096, 4097)
	add(t, w, 8191)
	add(t, w, 8192)
	got := slices.Collect(open(t, path).Runs())
	var firsts []core.ID
	for _, run := range got {
		firsts = append(firsts, run.First)
	}
	if !slices.Equal(firsts, []core.ID{4094, 4096, 8191, 8192}) {
		t.Errorf("runs %v", got)
	}
}

func TestFullFileGrowsWhileItIsRead(t *testing.T) {
	w, path := create(t, header())
	r := open(t, path)
	random := rand.New(rand.NewPCG(1, 2))
	var want []core.ID
	for len(want) < 5*firstRuns {
		id := core.ID(random.Int64N(1 << 40))
		batch := []core.ID{id, id + 2}
		add(t, w, batch...)
		want = append(want, batch...)
		if len(want)%4096 == 0 && !slices.Equal(ids(r), want) {
			t.Fatalf("of %d IDs, others are read", len(want))
		}
	}
	if err := r.Check(); err != nil || !slices.Equal(ids(r), want) || r.Issued() != uint64(len(want)) {
		t.Errorf("%v; %d IDs were added, %d counted", err, len(want), r.Issued())
	}
}

func TestReadingBesideTheWriter(t *testing.T) {
	w, path := create(t, header())
	r := open(t, path)
	done := make(chan error)
	const total = 50_000
	go func() {
		var err error
		for i := core.ID(0); i < total && err == nil; i++ {
			err = w.Add([]core.ID{3 * i, 3*i + 1})
		}
		done <- err
	}()
	for running := true; running; {
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			running = false
		default:
		}
		issued := r.Issued()
		if err := r.Check(); err != nil {
			t.Fatal(err)
		}
		if got := ids(r); uint64(len(got)) < issued || !slices.IsSorted(got) {
			t.Fatalf("%d IDs counted, %d read, sorted %v", issued, len(got), slices.IsSorted(got))
		}
	}
	if r.Issued() != 2*total {
		t.Errorf("%d IDs", r.Issued())
	}
}

func TestRandomIDsComeBack(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		w, path := create(t, header())
		var want []core.ID
		for range random.IntN(200) {
			var batch []core.ID
			id := core.ID(random.Int64N(1 << 15))
			for range random.IntN(6) {
				batch = append(batch, id)
				id += core.ID(random.IntN(3))
			}
			add(t, w, batch...)
			want = append(want, batch...)
		}
		r := open(t, path)
		if got := ids(r); !slices.Equal(got, want) || r.Issued() != uint64(len(want)) || r.Check() != nil {
			t.Fatalf("added %v\nread %v\n%v", want, got, r.Check())
		}
	}
}

func TestCreateRefuses(t *testing.T) {
	dir := t.TempDir()
	for name, change := range map[string]func(*Header){
		"no name":    func(h *Header) { h.Generator = "" },
		"no layout":  func(h *Header) { h.Layout = core.Layout{} },
		"long name":  func(h *Header) { h.Generator = string(make([]byte, headSize)) },
		"worker IDs": func(h *Header) { h.Workers.First = 1024 },
	} {
		h := header()
		change(&h)
		path := filepath.Join(dir, "journal")
		if _, err := Create(path, h); err == nil {
			t.Errorf("%s: no error", name)
		}
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s: a file is left", name)
		}
	}
	_, path := create(t, header())
	if _, err := Create(path, header()); err == nil {
		t.Error("an existing file was taken")
	}
	if got := open(t, path).Header(); reflect.DeepEqual(got, Header{}) {
		t.Error("an existing file was changed")
	}
}
