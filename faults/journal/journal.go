// Package journal stores which IDs a generator has issued, in a file that survives the death of
// its process: what [Writer.Add] has returned for is in the file even if the process is killed
// right after it. It does not survive the death of the machine.
//
// A file is a sequence of records of 24 bytes, each with a [Run] of consecutive IDs, so that a
// generator at full speed needs a few bytes for thousands of IDs. It can be read while it is
// written.
package journal

import (
	"bufio"
	"encoding/binary"
	"io"
	"iter"
	"os"

	"golang.org/x/sys/unix"

	"github.com/unalike-id/unalike/core"
)

// Run is a number of consecutive IDs: First, First+1, and so on, Count of them. At is when they
// were added, see [Now].
type Run struct {
	First core.ID
	Count int64
	At    int64
}

// Last returns the last ID of the run.
func (r Run) Last() core.ID { return r.First + core.ID(r.Count-1) }

// recordSize is the size of a run in the file.
const recordSize = 24

// Now returns the reading of the machine's monotonic clock in nanoseconds. It is the same in
// every process of the machine, and no change of the wall clock affects it.
func Now() int64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) // every system has that clock
	return t.Nano()
}

// Writer writes a journal. Its methods are for one goroutine.
type Writer struct {
	file *os.File
	buf  []byte
}

// Create makes the file path, which must not exist, for the IDs of one goroutine.
func Create(path string) (*Writer, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
	return &Writer{file: f}, err
}

// Add appends ids, in the order in which they were issued, with one system call. It does not
// keep the slice.
func (w *Writer) Add(ids []core.ID) error {
	if len(ids) == 0 {
		return nil
	}
	now := Now()
	w.buf = w.buf[:0]
	for rest := ids; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n] == rest[n-1]+1 {
			n++
		}
		// A run has a fixed size.
		w.buf, _ = binary.Append(w.buf, binary.NativeEndian, Run{rest[0], int64(n), now})
		rest = rest[n:]
	}
	_, err := w.file.Write(w.buf)
	return err
}

// Close closes the file.
func (w *Writer) Close() error { return w.file.Close() }

// Reader reads a journal, also while it is written and after its writer was killed. Its methods
// are for one goroutine at a time.
type Reader struct {
	file   *os.File
	seen   int64 // how far Progress has read
	issued uint64
	last   int64
}

// Open opens the file that [Create] has made.
func Open(path string) (*Reader, error) {
	f, err := os.Open(path)
	return &Reader{file: f}, err
}

// Close ends the reader. The file stays.
func (r *Reader) Close() error { return r.file.Close() }

// Runs returns the runs that were added so far, in the order in which they were added. What a
// killed writer has left of a run is left out.
func (r *Reader) Runs() iter.Seq[Run] { return r.from(0) }

func (r *Reader) from(offset int64) iter.Seq[Run] {
	return func(yield func(Run) bool) {
		in := bufio.NewReaderSize(io.NewSectionReader(r.file, offset, 1<<62), 64<<10)
		for {
			var run Run
			if binary.Read(in, binary.NativeEndian, &run) != nil || !yield(run) {
				return
			}
		}
	}
}

// Progress returns how many IDs there are, and when the newest one was added; 0: there are none.
func (r *Reader) Progress() (issued uint64, last int64) {
	if info, err := r.file.Stat(); err != nil || info.Size() < r.seen+recordSize {
		return r.issued, r.last
	}
	for run := range r.from(r.seen) {
		r.seen += recordSize
		r.issued, r.last = r.issued+uint64(run.Count), run.At
	}
	return r.issued, r.last
}
