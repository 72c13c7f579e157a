package journal

import (
	"encoding/binary"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/core"
)

// damaged makes a journal of ten runs of two IDs, closed or not, and changes its bytes.
func damaged(t *testing.T, closed bool, change func(b []byte) []byte) string {
	t.Helper()
	w, path := create(t, header())
	for i := range 10 {
		id := int64(10 * i)
		add(t, w, 1<<12+core.ID(id), 1<<12+core.ID(id+1))
	}
	if closed {
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	path += "-damaged"
	if err := os.WriteFile(path, change(b), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// put changes a word of a file.
func put(at int, v uint64) func([]byte) []byte {
	return func(b []byte) []byte {
		binary.NativeEndian.PutUint64(b[at:], v)
		return b
	}
}

func TestDamagedHeadIsRefused(t *testing.T) {
	for name, change := range map[string]func([]byte) []byte{
		"empty":           func([]byte) []byte { return nil },
		"short":           func(b []byte) []byte { return b[:headSize-1] },
		"another format":  put(0, 1),
		"header's length": put(8*wordJSONLength, 1<<40),
		"header's text":   func(b []byte) []byte { b[jsonAt+3]++; return b },
	} {
		_, err := Open(damaged(t, true, change))
		if !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Open(t.TempDir() + "/none"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that does not exist: %v", err)
	}
}

func TestDamagedRunsAreReported(t *testing.T) {
	const third = headSize + 3*recordSize
	const last = headSize + 9*recordSize
	for _, c := range []struct {
		name   string
		closed bool
		change func([]byte) []byte
		want   string // empty: nothing is wrong
		runs   int
	}{
		{"sound", false, func(b []byte) []byte { return b }, "", 10},
		{"sound and closed", true, func(b []byte) []byte { return b }, "", 10},
		{"cut after the runs", true, func(b []byte) []byte { return b[:headSize+10*recordSize] }, "", 10},
		{"truncated", false, func(b []byte) []byte { return b[:headSize+10*recordSize-1] }, "room for 9 runs", 9},
		{"truncated to the head", false, func(b []byte) []byte { return b[:headSize] }, "room for 0 runs", 0},
		{"first ID changed", false, put(third, 5), "run 3 has the checksum", 10},
		{"count changed", false, put(third+8, 1), "run 3 has the checksum", 10},
		{"time changed", false, put(third+16, 1), "run 3 has the checksum", 10},
		{"seal gone", false, put(third+32, 0), "run 3 has the checksum", 10},
		{"no IDs", false, put(third+8, 0), "not in one tick", 9},
		{"too many IDs", false, put(third+8, 1<<62), "not in one tick", 9},
		{"the last one shorter", false, put(last+8, 1), "have 19 IDs and its head counts 20", 10},
		{"the last one shorter, closed", true, put(last+8, 1), "run 9 has the checksum", 10},
		{"the last one is open and longer", false, put(last+8, 3), "", 10}, // as after a kill within Add
		{"runs forgotten", false, put(8*wordRuns, 7), "have 14 IDs and its head counts 20", 7},
		{"too many runs", false, put(8*wordRuns, 1<<60), "it has 1152921504606846976 runs", 0},
		{"more runs", true, put(8*wordRuns, 11), "run 10 has 0 IDs", 10},
		{"fewer IDs counted", true, put(8*wordIssued, 19), "have 20 IDs and its head counts 19", 10},
	} {
		r := open(t, damaged(t, c.closed, c.change))
		err := r.Check()
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.want != "" && (!errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: the error is %v; want %q", c.name, err, c.want)
		}
		runs := 0
		for range r.Runs() {
			runs++
		}
		if runs != c.runs {
			t.Errorf("%s: %d runs are read instead of %d", c.name, runs, c.runs)
		}
	}
}
