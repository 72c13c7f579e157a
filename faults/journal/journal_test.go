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
	var p journal.Progress
	if p.Read(path); p.Issued != 0 || p.Last != 0 {
		t.Errorf("the progress is %+v; want none", p)
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
	if p.Read(path); p.Issued != 5 || p.Last < before || p.Last > journal.Now() {
		t.Errorf("the progress is %+v; want 5 IDs after %d", p, before)
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
	for run, err := range journal.Runs(path) {
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, [2]int64{int64(run.First), int64(run.Last())})
	}
	if want := [][2]int64{{5, 7}, {9, 9}, {10, 10}}; !slices.Equal(runs, want) {
		t.Errorf("the runs are %v; want %v", runs, want)
	}
	if p.Read(path); p.Issued != 5 {
		t.Errorf("%d IDs; want 5", p.Issued)
	}
}
