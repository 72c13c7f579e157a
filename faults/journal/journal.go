// Package journal stores which IDs a generator has issued, in a file that survives the death of
// its process: what [Writer.Add] has returned for is in the file even if the process is killed
// right after it. It does not survive the death of the machine.
//
// A file begins with a [Header] as a line of JSON. Then there are records of 24 bytes, each with
// a [Run] of consecutive IDs, so that a generator at full speed needs a few bytes for thousands
// of IDs. It can be read while it is written.
package journal

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"

	"golang.org/x/sys/unix"

	"github.com/unalike-id/unalike/core"
)

// Header says whose IDs a journal has.
type Header struct {
	Generator string // the unique name of one generator instance
	Layout    core.Layout
	Numbers   bool // these are plain numbers of a segment, and no IDs
}

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

// Create makes the file path for the IDs of one generator. It is there when it has its header.
func Create(path string, h Header) (*Writer, error) {
	text, err := json.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("journal %s: %w", path, err)
	}
	made := path + ".new"
	f, err := os.OpenFile(made, os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	_, err = f.Write(append(text, '\n'))
	if err = errors.Join(err, os.Rename(made, path)); err != nil {
		return nil, errors.Join(fmt.Errorf("journal: %w", err), f.Close())
	}
	return &Writer{file: f}, nil
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
		for _, v := range []int64{int64(rest[0]), int64(n), now} {
			w.buf = binary.NativeEndian.AppendUint64(w.buf, uint64(v))
		}
		rest = rest[n:]
	}
	if _, err := w.file.Write(w.buf); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	return nil
}

// Close closes the file.
func (w *Writer) Close() error { return w.file.Close() }

// Reader reads a journal, also while it is written and after its writer was killed. Its methods
// are for one goroutine at a time.
type Reader struct {
	Header Header
	file   *os.File
	begin  int64 // where the runs begin
	seen   int64 // how far Progress has read
	issued uint64
	last   int64
}

// Open opens the file that [Create] has made.
func Open(path string) (*Reader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	line, err := bufio.NewReader(f).ReadBytes('\n')
	r := &Reader{file: f, begin: int64(len(line)), seen: int64(len(line))}
	if err == nil {
		err = json.Unmarshal(bytes.TrimSpace(line), &r.Header)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("journal %s: its header: %w", path, err), f.Close())
	}
	return r, nil
}

// Close ends the reader. The file stays.
func (r *Reader) Close() error { return r.file.Close() }

// Runs returns the runs that were added so far, in the order in which they were added. What a
// killed writer has left of a run is left out.
func (r *Reader) Runs() iter.Seq[Run] { return r.from(r.begin) }

func (r *Reader) from(offset int64) iter.Seq[Run] {
	return func(yield func(Run) bool) {
		in := bufio.NewReaderSize(io.NewSectionReader(r.file, offset, 1<<62), 64<<10)
		var record [recordSize]byte
		for {
			if _, err := io.ReadFull(in, record[:]); err != nil {
				return
			}
			word := func(i int) int64 { return int64(binary.NativeEndian.Uint64(record[8*i:])) }
			if !yield(Run{First: core.ID(word(0)), Count: word(1), At: word(2)}) {
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
