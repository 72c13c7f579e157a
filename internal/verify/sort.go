package verify

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

// sorter sorts numbers, also more than memory holds: runs that are sorted in memory go to
// a temporary folder, and are merged. The next run is read while one is sorted.
type sorter struct {
	parent string // of the folder; empty: that of the system
	dir    string // empty: no run was written yet
	size   int    // numbers in a run
	run    []uint64
	count  int64
	files  []*os.File

	full chan []uint64 // runs to sort
	free chan []uint64 // runs that were written
	done chan error    // the first error of the other goroutine
}

// buffers is how many runs are in memory at a time: one is read, one sorted.
const buffers = 2

// newSorter returns a sorter which uses about so many bytes of memory, 1 MiB or more.
func newSorter(parent string, memory int64) *sorter {
	size := int(max(memory, 1<<20) / 8 / buffers)
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

// spill hands the run over to be sorted and written, and begins a new one.
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

// begin makes the folder, and starts the goroutine that sorts and writes.
func (s *sorter) begin() error {
	dir, err := os.MkdirTemp(s.parent, "unalike-verify-")
	if err != nil {
		return fmt.Errorf("a folder for sorting cannot be made: %w", err)
	}
	s.dir = dir
	s.full, s.free, s.done = make(chan []uint64), make(chan []uint64, buffers), make(chan error, 1)
	for range buffers - 1 {
		s.free <- make([]uint64, 0, s.size)
	}
	go func() {
		for run := range s.full {
			slices.Sort(run)
			if err := s.write(run); err != nil {
				s.done <- err
				return
			}
			s.free <- run[:0]
		}
		s.done <- nil
	}()
	return nil
}

// write writes a sorted run to a file, as differences.
func (s *sorter) write(run []uint64) error {
	f, err := os.CreateTemp(s.dir, "run-")
	if err != nil {
		return fmt.Errorf("sorting in %s: %w", s.dir, err)
	}
	s.files = append(s.files, f)
	w := bufio.NewWriterSize(f, 1<<18)
	var buf [binary.MaxVarintLen64]byte
	last := uint64(0)
	for _, v := range run {
		_, _ = w.Write(buf[:binary.PutUvarint(buf[:], v-last)]) // Flush returns the error
		last = v
	}
	if err = w.Flush(); err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		return fmt.Errorf("sorting in %s: %w; name a folder with more room with --temp", s.dir, err)
	}
	return nil
}

// each calls f with all numbers in ascending order, once.
func (s *sorter) each(f func(v uint64) error) error {
	if s.full != nil {
		if len(s.run) > 0 {
			if err := s.spill(); err != nil {
				return err
			}
		}
		close(s.full)
		s.full = nil
		if err := <-s.done; err != nil {
			return err
		}
		s.run, s.free = nil, nil // the memory is for merging now
		return merge(s.files, f)
	}
	slices.Sort(s.run)
	for _, v := range s.run {
		if err := f(v); err != nil {
			return err
		}
	}
	return nil
}

// close deletes what was written.
func (s *sorter) close() error {
	if s.full != nil {
		close(s.full)
		<-s.done
	}
	var errs []error
	for _, f := range s.files {
		errs = append(errs, f.Close())
	}
	if s.dir != "" {
		errs = append(errs, os.RemoveAll(s.dir))
	}
	return errors.Join(errs...)
}

// cursor reads the numbers of a run.
type cursor struct {
	r *bufio.Reader
	v uint64
}

// next moves to the next number; false: there is none.
func (c *cursor) next() (bool, error) {
	d, err := binary.ReadUvarint(c.r)
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	c.v += d
	return err == nil, err
}

// merge calls f with the numbers of all runs in ascending order. The runs are a heap by
// their next numbers.
func merge(files []*os.File, f func(v uint64) error) error {
	var heap []*cursor
	for _, file := range files {
		c := &cursor{r: bufio.NewReaderSize(file, 1<<18)}
		ok, err := c.next()
		if err != nil {
			return fmt.Errorf("merging: %w", err)
		}
		if ok {
			heap = append(heap, c)
		}
	}
	for i := len(heap)/2 - 1; i >= 0; i-- {
		sink(heap, i)
	}
	for len(heap) > 0 {
		if err := f(heap[0].v); err != nil {
			return err
		}
		ok, err := heap[0].next()
		if err != nil {
			return fmt.Errorf("merging: %w", err)
		}
		if !ok {
			heap[0] = heap[len(heap)-1]
			heap = heap[:len(heap)-1]
		}
		sink(heap, 0)
	}
	return nil
}

// sink moves the i-th of a heap to where it belongs.
func sink(heap []*cursor, i int) {
	for {
		least := 2*i + 1
		if least >= len(heap) {
			return
		}
		if right := least + 1; right < len(heap) && heap[right].v < heap[least].v {
			least = right
		}
		if heap[i].v <= heap[least].v {
			return
		}
		heap[i], heap[least] = heap[least], heap[i]
		i = least
	}
}
