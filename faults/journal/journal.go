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

// Runs returns the runs that were added to the journal at path so far, in the order in which they
// were added, also while it is written. What a killed writer has left of a run is left out. An
// error says that the file cannot be opened, and comes alone.
func Runs(path string) iter.Seq2[Run, error] { return from(path, 0) }

func from(path string, offset int64) iter.Seq2[Run, error] {
	return func(yield func(Run, error) bool) {
		f, err := os.Open(path)
		if err != nil {
			yield(Run{}, err)
			return
		}
		defer f.Close()
		in := bufio.NewReaderSize(io.NewSectionReader(f, offset, 1<<62), 64<<10)
		for {
			var run Run
			if binary.Read(in, binary.NativeEndian, &run) != nil || !yield(run, nil) {
				return
			}
		}
	}
}

// Progress is what a journal has: how many IDs, and when the newest one was added; 0: there are
// none. Its methods are for one goroutine at a time.
type Progress struct {
	Issued uint64
	Last   int64
	read   int64 // how much of the file
}

// Read adds what was added to the journal at path since the last call. A file that cannot be read
// has nothing.
func (p *Progress) Read(path string) {
	if info, err := os.Stat(path); err != nil || info.Size() < p.read+recordSize {
		return
	}
	for run, err := range from(path, p.read) {
		if err == nil {
			p.read += recordSize
			p.Issued, p.Last = p.Issued+uint64(run.Count), run.At
		}
	}
}
