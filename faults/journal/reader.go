package journal

import (
	"errors"
	"fmt"
	"iter"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/unalike-id/unalike/core"
)

// Reader reads a journal, also while it is written and after its writer was killed. All
// methods but Close are safe for concurrent use.
type Reader struct {
	file   *os.File
	head   []byte // the mapped head of the file
	header Header
}

// Open opens the file that [Create] has made. The error wraps [ErrDamaged] if the file's
// head cannot be read. Damage behind that is reported by [Reader.Check].
func Open(path string) (*Reader, error) {
	f, err := os.Open(path) //nolint:gosec // the caller's path
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	r := &Reader{file: f}
	if err := r.open(); err != nil {
		return nil, errors.Join(fmt.Errorf("journal %s: %w", path, err), f.Close())
	}
	return r, nil
}

// open maps and reads the head of the file.
func (r *Reader) open() error {
	memory, err := r.mapFile(headSize)
	if err != nil {
		return err
	}
	if len(memory) < headSize {
		return errors.Join(fmt.Errorf("%w: it has %d bytes; its head alone has %d", ErrDamaged, len(memory), headSize), unmap(memory))
	}
	if r.header, err = decodeHeader(memory); err != nil {
		return errors.Join(err, unmap(memory))
	}
	r.head = memory
	return nil
}

// mapFile maps the file's first bytes: so many, or as many as there are.
func (r *Reader) mapFile(size int64) ([]byte, error) {
	info, err := r.file.Stat()
	if err != nil {
		return nil, err
	}
	if size = min(size, info.Size()); size == 0 {
		return nil, nil
	}
	return unix.Mmap(int(r.file.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
}

// unmap ends a mapping, which may be empty.
func unmap(memory []byte) error {
	if memory == nil {
		return nil
	}
	return unix.Munmap(memory)
}

// Path returns the name of the file.
func (r *Reader) Path() string { return r.file.Name() }

// Header returns what the journal says about its generator.
func (r *Reader) Header() Header { return r.header }

// Issued returns how many IDs were added so far. It reads a number and not the runs.
func (r *Reader) Issued() uint64 { return load(r.head, wordIssued) }

// Last returns when the newest IDs were added, see [Now]; 0: there are none.
func (r *Reader) Last() int64 { return int64(load(r.head, wordLast)) }

// Closed reports whether the writer has closed the journal. One that was killed has not.
func (r *Reader) Closed() bool { return load(r.head, wordClosed) != 0 }

// Close ends the reader, after which none of its methods may be called. The file stays.
func (r *Reader) Close() error {
	if err := errors.Join(unmap(r.head), r.file.Close()); err != nil {
		return fmt.Errorf("journal %s: %w", r.Path(), err)
	}
	return nil
}

// Runs returns the runs that were added so far, in the order in which they were added.
// Those that a damaged file does not have, or that no writer makes, are left out: see
// [Reader.Check].
func (r *Reader) Runs() iter.Seq[Run] {
	return func(yield func(Run) bool) {
		_ = r.each(func(_ int64, run Run, _ uint64) bool {
			return !run.whole(r.header.Layout) || yield(run)
		})
	}
}

// Check reports what is wrong with the file: runs that are missing or were changed. The
// error wraps [ErrDamaged]; it describes the first fault. A file that is being written, or
// whose writer was killed, is not damaged.
func (r *Reader) Check() error {
	closed, issued := r.Closed(), r.Issued() // before the runs, which may be more by now
	var damage error
	var sum uint64
	runs := int64(load(r.head, wordRuns))
	err := r.each(func(i int64, run Run, seal uint64) bool {
		open := i >= runs-1 && !closed
		switch {
		case !run.whole(r.header.Layout):
			damage = fmt.Errorf("%w: run %d has %d IDs from %d on, which are not in one tick", ErrDamaged, i, run.Count, int64(run.First))
		case !open && seal != run.seal(i):
			damage = fmt.Errorf("%w: run %d has the checksum %x and should have %x", ErrDamaged, i, seal, run.seal(i))
		}
		sum += uint64(max(run.Count, 0))
		return damage == nil
	})
	switch {
	case damage == nil && err == nil && (sum < issued || closed && sum != issued):
		damage = fmt.Errorf("%w: its runs have %d IDs and its head counts %d", ErrDamaged, sum, issued)
	case damage == nil:
		damage = err
	}
	if damage != nil {
		return fmt.Errorf("journal %s: %w", r.Path(), damage)
	}
	return nil
}

// each calls f with the runs and their seals until it returns false.
func (r *Reader) each(f func(index int64, run Run, seal uint64) bool) (err error) {
	runs := load(r.head, wordRuns)
	if runs > 1<<56 {
		return fmt.Errorf("%w: it has %d runs", ErrDamaged, runs)
	}
	memory, err := r.mapFile(headSize + int64(runs)*recordSize)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unmap(memory)) }()
	room := (len(memory) - headSize) / recordSize
	for i := range min(room, int(runs)) {
		word := (headSize + i*recordSize) / 8
		run := Run{
			First: core.ID(load(memory, word)),
			Count: int64(load(memory, word+1)),
			From:  int64(load(memory, word+2)),
			To:    int64(load(memory, word+3)),
		}
		if !f(int64(i), run, load(memory, word+4)) {
			return nil
		}
	}
	if uint64(room) < runs {
		return fmt.Errorf("%w: it has room for %d runs and its head counts %d", ErrDamaged, room, runs)
	}
	return nil
}

// load reads a word of mapped memory.
func load(memory []byte, word int) uint64 {
	return atomic.LoadUint64((*uint64)(unsafe.Pointer(&memory[8*word])))
}
