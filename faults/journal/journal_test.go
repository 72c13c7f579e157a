package journal_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/faults/journal"
)

// TestJournal: what was added is read while the file is written, in order, and what a killed
// writer has left of a run is none.
func TestJournal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.journal")
	w, err := journal.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	r, err := journal.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if issued, last := r.Progress(); issued != 0 || last != 0 {
		t.Errorf("%d IDs at %d; want none", issued, last)
	}
	if _, err := journal.Create(path); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a journal that is there was made again: %v", err)
	}
	before := journal.Now()
	for _, ids := range [][]core.ID{{5, 6, 7, 9}, nil, {10}} {
		if err := w.Add(ids); err != nil {
			t.Fatal(err)
		}
	}
	if issued, last := r.Progress(); issued != 5 || last < before || last > journal.Now() {
		t.Errorf("%d IDs at %d; want 5 after %d", issued, last, before)
	}
	torn, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := torn.WriteString("killed here"); err != nil {
		t.Fatal(err)
	}
	torn.Close()
	var runs [][2]int64
	for run := range r.Runs() {
		runs = append(runs, [2]int64{int64(run.First), int64(run.Last())})
	}
	if want := [][2]int64{{5, 7}, {9, 9}, {10, 10}}; !slices.Equal(runs, want) {
		t.Errorf("the runs are %v; want %v", runs, want)
	}
	if issued, _ := r.Progress(); issued != 5 {
		t.Errorf("%d IDs; want 5", issued)
	}
}
