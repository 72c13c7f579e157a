package verify

import (
	"fmt"
	"math"
	"os"
	"slices"

	"github.com/unalike-id/unalike/internal/filesys"
)

const (
	// LeastMemory is the least memory that sorting can use, in bytes.
	LeastMemory = 1 << 20
	// MostMemory is the most memory that sorting can use, in bytes.
	MostMemory = min(64<<30, math.MaxInt/2)
	// smallRun is how many numbers fit into the first run before it gets its full size.
	smallRun = 1 << 16
	// buffers is how many runs are in memory at once: one is filled while the other one is sorted and
	// written.
	buffers = 2
	// overhead is how much memory a Go program takes for each byte in use, before it collects garbage.
	overhead = 2
	// mergedAtOnce is how many files are merged at once. It bounds open files, and the memory for
	// reading them.
	mergedAtOnce = 128
)

// sorter sorts numbers, also more than memory holds: it writes sorted runs to files in a temporary
// folder and merges those. A second goroutine sorts and writes a run while the next one is filled.
type sorter struct {
	parent string // of the temporary folder; empty: the system's
	dir    string // the temporary folder; empty: nothing was written yet
	size   int    // numbers in a run
	fanIn  int    // how many files are merged at once
	run    []uint64
	count  int64
	// levels holds the files of sorted runs. Those of level 0 hold one run each, and those of every
	// other level are merged from fanIn files of the level below. The second goroutine owns it until
	// done is received from.
	levels [][]string

	full chan []uint64 // runs to be sorted; nil: there is no second goroutine
	free chan []uint64 // runs that were written
	done chan error    // the end of the second goroutine
}

// newSorter returns a sorter that makes the program use so many bytes for sorting.
func newSorter(parent string, memory int64) *sorter {
	size := int(min(max(memory, LeastMemory), MostMemory) / 8 / buffers / overhead)
	return &sorter{
		parent: parent, size: size, fanIn: mergedAtOnce,
		run: make([]uint64, 0, min(size, smallRun)),
	}
}

// add adds a number.
func (s *sorter) add(v uint64) error {
	if len(s.run) == cap(s.run) {
		s.run = append(make([]uint64, 0, s.size), s.run...) // growing by and by would leave garbage
	}
	s.run = append(s.run, v)
	s.count++
	if len(s.run) < s.size {
		return nil
	}
	return s.spill()
}

// spill hands the run over to the second goroutine and begins a new one.
func (s *sorter) spill() error {
	if s.full == nil {
		if err := s.begin(); err != nil {
			return err
		}
	}
	select {
	case s.full <- s.run:
	case err := <-s.done:
		s.done <- err
		return err
	}
	select {
	case s.run = <-s.free:
		return nil
	case err := <-s.done:
		s.done <- err
		return err
	}
}

// begin makes the temporary folder and starts the second goroutine.
func (s *sorter) begin() error {
	dir, err := os.MkdirTemp(s.parent, "unalike-verify-")
	if err != nil {
		return explain(err)
	}
	s.dir = dir
	s.full, s.free, s.done = make(chan []uint64), make(chan []uint64, buffers), make(chan error, 1)
	for range buffers - 1 {
		s.free <- make([]uint64, 0, s.size)
	}
	go func() {
		for run := range s.full {
			slices.Sort(run)
			if err := s.store(run); err != nil {
				s.done <- explain(err) //mutant:verify-disk
				return
			}
			s.free <- run[:0]
		}
		s.done <- nil
	}()
	return nil
}

// store writes a sorted run to a file.
func (s *sorter) store(run []uint64) error {
	path, err := writeRun(s.dir, func(w *runWriter) error {
		for _, v := range run {
			if err := w.add(v); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return s.keep(0, path)
}

// keep adds a file to a level. A level that is full becomes one file of the next level.
func (s *sorter) keep(level int, path string) error {
	if level == len(s.levels) {
		s.levels = append(s.levels, nil)
	}
	s.levels[level] = append(s.levels[level], path)
	files := s.levels[level]
	if len(files) < s.fanIn {
		return nil
	}
	merged, err := writeRun(s.dir, func(w *runWriter) error { return mergeRuns(files, w.add) })
	if err != nil {
		return err
	}
	for _, file := range files {
		if err := os.Remove(file); err != nil {
			return err
		}
	}
	s.levels[level] = nil
	return s.keep(level+1, merged)
}

// each calls f with all numbers in ascending order. It is called once, after the last add.
func (s *sorter) each(f func(v uint64) error) error {
	if s.full == nil {
		slices.Sort(s.run)
		for _, v := range s.run {
			if err := f(v); err != nil {
				return err
			}
		}
		return nil
	}
	if len(s.run) > 0 { //mutant:verify-last-run
		if err := s.spill(); err != nil {
			return err
		}
	}
	if err := s.wait(); err != nil {
		return err
	}
	s.run, s.free = nil, nil // the memory is free for merging
	return mergeRuns(slices.Concat(s.levels...), f)
}

// wait waits for the end of the second goroutine.
func (s *sorter) wait() error {
	close(s.full)
	s.full = nil
	return <-s.done
}

// close ends the second goroutine and deletes what was written.
func (s *sorter) close() error {
	if s.full != nil {
		_ = s.wait() // whoever closes early has an error already
	}
	if s.dir == "" {
		return nil
	}
	if err := os.RemoveAll(s.dir); err != nil {
		return fmt.Errorf("deleting the temporary files: %w", err)
	}
	return nil
}

// explain says what an error of the temporary files is about.
func explain(err error) error {
	if filesys.DiskFull(err) {
		return fmt.Errorf("sorting in temporary files: %w; make room, or name a folder on another disk "+
			"in TMPDIR", err)
	}
	return fmt.Errorf("sorting in temporary files: %w", err)
}
