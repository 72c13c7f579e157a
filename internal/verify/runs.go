package verify

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
)

// fileBuffer is how many bytes of a file of numbers are read or written at once.
const fileBuffer = 64 << 10

// runWriter writes ascending numbers to a file, as varints of the differences.
type runWriter struct {
	w    *bufio.Writer
	last uint64
	buf  [binary.MaxVarintLen64]byte
}

// add writes a number that is not below the one before.
func (w *runWriter) add(v uint64) error {
	_, err := w.w.Write(w.buf[:binary.PutUvarint(w.buf[:], v-w.last)])
	w.last = v
	return err
}

// writeRun creates a file in a folder, which fill fills, and returns its path.
func writeRun(dir string, fill func(w *runWriter) error) (path string, err error) {
	f, err := os.CreateTemp(dir, "run-")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := &runWriter{w: bufio.NewWriterSize(f, fileBuffer)}
	if err := fill(w); err != nil {
		return "", err
	}
	return f.Name(), w.w.Flush()
}

// runReader reads what a runWriter wrote.
type runReader struct {
	r *bufio.Reader
	v uint64 // the number that was read last
}

// next reads the next number. It reports false at the end.
func (r *runReader) next() (bool, error) {
	d, err := binary.ReadUvarint(r.r)
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	r.v += d
	if err != nil {
		err = fmt.Errorf("reading temporary files: %w", err)
	}
	return err == nil, err
}

// mergeRuns calls f with the numbers of all files in ascending order, until f returns an error. The
// readers form a heap, ordered by their next numbers.
func mergeRuns(paths []string, f func(v uint64) error) error {
	var heap []*runReader
	for _, path := range paths {
		file, err := os.Open(path)
		if err != nil {
			return fmt.Errorf("reading temporary files: %w", err)
		}
		defer file.Close()
		r := &runReader{r: bufio.NewReaderSize(file, fileBuffer)}
		ok, err := r.next()
		if err != nil {
			return err
		}
		if ok {
			heap = append(heap, r)
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
			return err
		}
		if !ok {
			heap[0] = heap[len(heap)-1]
			heap = heap[:len(heap)-1]
		}
		sink(heap, 0)
	}
	return nil
}

// sink moves the i-th reader of a heap down to where it belongs.
func sink(heap []*runReader, i int) {
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
