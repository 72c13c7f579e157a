package verify

import (
	"fmt"
	"math"
	"os"
	"slices"

	"github.com/unalike-id/unalike/internal/filesys"
)

const (
	// leastMemory is the least memory that a sorter works with.
	leastMemory = 1 << 20
	// buffers is how many runs are in memory at once: one is filled while the other one is sorted and written.
	buffers = 2
	// mergedAtOnce is how many files are merged at once. It bounds open files, and the memory for reading them.
	mergedAtOnce = 64
)

// sorter sorts numbers, also more than memory holds: it writes sorted runs to files in a temporary folder and merges
// those. A second goroutine sorts and writes a run while the next one is filled.
type sorter struct {
	parent string // of the temporary folder; empty: the system's
	dir    string // the temporary folder; empty: nothing was written yet
	size   int    // numbers in a run
	run    []uint64
	count  int64
	// levels holds the files of sorted runs. Those of level 0 hold one run each, and those of every other level are
	// merged from mergedAtOnce files of the level below. The second goroutine owns it until done is received from.
	levels [][]string

	full chan []uint64 // runs to be sorted; nil: there is no second goroutine
	free chan []uint64 // runs that were written
	done chan error    // the end of the second goroutine
}

// newSorter returns a sorter that holds as many numbers in memory as fit into so many bytes.
func newSorter(parent string, memory int64) *sorter {
	size := int(min(max(memory, leastMemory)/8/buffers, math.MaxInt32)) // an int may have 32 bits
	return &sorter{parent: parent, size: size, run: make([]uint64, 0, min(size, 1<<16))}
}

// add adds a number.
func (s *sorter) add(v uint64) error {
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
				s.done <- explain(err)
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
	if len(files) < mergedAtOnce {
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
	if len(s.run) > 0 {
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
		return fmt.Errorf("sorting in temporary files: %w; make room, or name a folder on another disk with --temp", err)
	}
	return fmt.Errorf("sorting in temporary files: %w", err)
}
