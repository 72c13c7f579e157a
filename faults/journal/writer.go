package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc64"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/unalike-id/unalike/core"
)

const (
	// firstRuns is how many runs a new file has room for.
	firstRuns = 4096
	// maxGrow is how many runs a file grows by at most.
	maxGrow = 1 << 20
)

// Writer writes a journal. Its methods are for one goroutine. Its owner is the only
// writer of the file.
type Writer struct {
	file   *os.File
	memory []byte // the whole file
	layout core.Layout

	last   Run   // the run that grows; Count 0: there is none yet
	runs   int64 // with last
	issued uint64
}

// Create makes the file path, which must not exist, for the IDs of one generator. Other
// processes can open it as soon as Create has returned.
func Create(path string, h Header) (*Writer, error) {
	text, err := h.encode()
	if err != nil {
		return nil, fmt.Errorf("journal %s: %w", path, err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644) //nolint:gosec // other users may read a report
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	w := &Writer{file: f, layout: h.Layout}
	if err := w.grow(firstRuns); err != nil {
		return nil, errors.Join(err, f.Close(), os.Remove(path))
	}
	copy(w.memory[jsonAt:], text)
	w.store(wordJSONLength, uint64(len(text)))
	w.store(wordJSONSum, crc64.Checksum(text, table))
	w.store(wordMagic, binary.NativeEndian.Uint64([]byte(magic)))
	return w, nil
}

// Add appends ids, in the order in which they were issued, to the journal. IDs that follow the
// last run extend it. They are kept if the process is killed once Add has returned. Add
// does not keep the slice. An error means that the file could not grow; the journal must
// not be used any more then.
func (w *Writer) Add(ids []core.ID) error {
	if len(ids) == 0 {
		return nil
	}
	if w.memory == nil {
		return fmt.Errorf("journal %s: it is closed", w.file.Name())
	}
	now := Now()
	for rest := ids; len(rest) > 0; {
		n := 1
		for n < len(rest) && w.follows(rest[n-1], rest[n]) {
			n++
		}
		if err := w.run(rest[0], int64(n), now); err != nil {
			return err
		}
		rest = rest[n:]
	}
	w.issued += uint64(len(ids))
	w.store(wordLast, uint64(now))
	w.store(wordIssued, w.issued)
	return nil
}

// follows reports whether id continues a run that ends with last.
func (w *Writer) follows(last, id core.ID) bool {
	return id == last+1 && tick(w.layout, last) == tick(w.layout, id)
}

// run writes n consecutive IDs of one tick.
func (w *Writer) run(first core.ID, n, now int64) error {
	if w.last.Count > 0 && w.follows(w.last.First+core.ID(w.last.Count-1), first) {
		w.last.Count += n
		w.last.To = now
		at := w.record(w.runs - 1)
		w.store(at+3, uint64(now))
		w.store(at+1, uint64(w.last.Count))
		return nil
	}
	if room := int64(len(w.memory)-headSize) / recordSize; w.runs == room {
		if err := w.grow(min(2*room, room+maxGrow)); err != nil {
			return err
		}
	}
	w.seal()
	w.last = Run{First: first, Count: n, From: now, To: now}
	for i, v := range []int64{int64(first), n, now, now, 0} {
		w.store(w.record(w.runs)+i, uint64(v))
	}
	w.runs++
	w.store(wordRuns, uint64(w.runs))
	return nil
}

// seal ends the run that grows.
func (w *Writer) seal() {
	if w.runs > 0 {
		w.store(w.record(w.runs-1)+4, w.last.seal(w.runs-1))
	}
}

// Close ends the journal, so that a reader can see that nothing is missing at its end.
// The file stays. Close a second time does nothing.
func (w *Writer) Close() error {
	if w.memory == nil {
		return nil
	}
	w.seal()
	w.store(wordClosed, 1)
	err := unix.Munmap(w.memory)
	w.memory = nil
	if err = errors.Join(err, w.file.Close()); err != nil {
		return fmt.Errorf("journal %s: %w", w.file.Name(), err)
	}
	return nil
}

// grow makes room for a number of runs. The space is allocated here, because a write to
// mapped memory cannot return an error when the disk is full.
func (w *Writer) grow(runs int64) error {
	size := headSize + runs*recordSize
	if err := allocate(w.file, size); err != nil {
		return fmt.Errorf("journal %s: growing to %d bytes: %w", w.file.Name(), size, err)
	}
	memory, err := unix.Mmap(int(w.file.Fd()), 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return fmt.Errorf("journal %s: mapping %d bytes: %w", w.file.Name(), size, err)
	}
	old := w.memory
	w.memory = memory
	if old != nil {
		if err := unix.Munmap(old); err != nil {
			return fmt.Errorf("journal %s: %w", w.file.Name(), err)
		}
	}
	return nil
}

// record returns the first word of a run.
func (w *Writer) record(index int64) int { return int(headSize+index*recordSize) / 8 }

// store writes a word. Stores become visible to other processes in the order in which
// they are made.
func (w *Writer) store(word int, v uint64) {
	atomic.StoreUint64((*uint64)(unsafe.Pointer(&w.memory[8*word])), v)
}
