package verify

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// TestSorter sorts numbers that take three levels of files, never more of them than that.
func TestSorter(t *testing.T) {
	const size, fanIn = 20, 30
	s := newSorter(t.TempDir(), 0)
	s.size, s.fanIn = size, fanIn
	r := rand.New(rand.NewPCG(3, 5))
	var want []uint64
	for range size * (fanIn*fanIn + 3*fanIn + 5) {
		v := r.Uint64N(1<<63) >> r.IntN(64)
		want = append(want, v)
		if err := s.add(v); err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(want)
	var got []uint64
	if err := s.each(func(v uint64) error { got = append(got, v); return nil }); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, want) || s.count != int64(len(want)) {
		t.Errorf("%d numbers came back, want %d, or they are not in order", len(got), len(want))
	}
	if files, err := os.ReadDir(s.dir); err != nil || len(files) != 1+3+5 || len(s.levels) != 3 {
		t.Errorf("%d files at the end in %d levels, %v; want 9 in 3", len(files), len(s.levels), err)
	}
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(s.parent); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestSorterFails: an error in the second goroutine ends the sorting, wherever it comes up.
func TestSorterFails(t *testing.T) {
	s := newSorter(t.TempDir(), 0)
	s.size = 4
	var err error
	for i := 0; err == nil && i < 1000; i++ {
		err = s.add(uint64(i))
		if i == 8 { // the first run was handed over, so the folder is there
			if err := os.Rename(s.dir, s.dir+"-gone"); err != nil {
				// what is being written to has no moment to be deleted
				t.Fatal(err)
			}
		}
	}
	if !errors.Is(err, os.ErrNotExist) ||
		!strings.HasPrefix(err.Error(), "sorting in temporary files: ") {
		t.Errorf("the folder is gone: %v", err)
	}
	if err := s.close(); err != nil {
		t.Error(err)
	}
	full := explain(&os.PathError{
		Op: "write", Path: filepath.Join("tmp", "run-1"),
		Err: syscall.ENOSPC,
	})
	if want := "make room, or name a folder on another disk in TMPDIR"; !strings.Contains(
		full.Error(), want) || !errors.Is(full, syscall.ENOSPC) {
		t.Errorf("%v; want %q", full, want)
	}
}

// TestEnds: nothing is left in the temporary folder after a check that fails, or that is
// interrupted.
func TestEnds(t *testing.T) {
	o := options(t)
	o.Layout = nil
	var big bytes.Buffer
	for i := range 400_000 {
		big.WriteString(strconv.Itoa(i+1) + "\n")
	}
	gone := func(what string) {
		t.Helper()
		if left, err := os.ReadDir(o.Temp); err != nil || len(left) > 0 {
			t.Errorf("%s: left in the temporary folder: %v, %v", what, left, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	silent, pipe := io.Pipe()
	go func() {
		_, _ = pipe.Write(big.Bytes())
		_, _ = pipe.Write(big.Bytes()) // returns when all is read but what is buffered
		cancel()                       // and the pipe stays open
	}()
	if _, err := Check(ctx, []Source{{Name: "pipe", Size: -1, Open: func() (io.ReadCloser, error) {
		return silent, nil
	}}}, o); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted while it waits: %v", err)
	}
	gone("interrupted")

	for _, step := range []string{"reading", "comparing", "finding lines"} {
		ctx, cancel := context.WithCancel(t.Context())
		o.Progress = func(s string, done, _ int64) {
			if s == step && done > 1<<20 {
				cancel()
			}
		}
		twice := text("f", strings.Repeat(big.String(), 6))
		if _, err := Check(ctx, []Source{twice}, o); !errors.Is(err, context.Canceled) {
			t.Errorf("interrupted while %s: %v", step, err)
		}
		gone(step)
	}

	o.Progress = nil
	broken := io.MultiReader(bytes.NewReader(big.Bytes()), &failing{})
	_, err := Check(t.Context(), []Source{{Name: "disk", Open: func() (io.ReadCloser, error) {
		return io.NopCloser(broken), nil
	}}}, o)
	if !errors.Is(err, syscall.EIO) || !strings.Contains(err.Error(), "disk: line 400001: ") {
		t.Errorf("a disk that fails: %v", err)
	}
	gone("a disk that fails")
}

// failing is a reader that fails.
type failing struct{}

func (*failing) Read([]byte) (int, error) { return 0, syscall.EIO }
