package filestore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/unalike-id/unalike/internal/filelock"
	"github.com/unalike-id/unalike/internal/statefile"
)

// ErrOther says that a file is not the one that this machine wrote last.
var ErrOther = errors.New("it is not the file that this machine wrote last")

// markFormat is that of a mark: a file next to a state file, with the Count of its last change.
var markFormat = statefile.Format{Name: "unalike-mark", Version: 1}

// Access is how [Store.Numbers] uses a file.
type Access = access

const (
	// Read is without a lock, also if it is another file than this machine wrote last.
	Read = look
	// Change is under the lock.
	Change = change
	// Adopt is under the lock, by an operator, and accepts any file as Read does.
	Adopt = adopt
)

// Numbers has f change the numbers of package segment in the file: it receives their text, and
// returns the new one, nil if nothing changes. It returns once that is stored, or when ctx ends: f
// may run later then, or have run. Calls that wait at the same time share one write.
func (s *Store) Numbers(ctx context.Context, to Access,
	f func(numbers json.RawMessage) (json.RawMessage, error),
) error {
	_, err := with(ctx, &session{Store: s}, to, func(d *State) (_ struct{}, changed bool, _ error) {
		numbers, err := f(d.Numbers)
		if changed = err == nil && numbers != nil; changed {
			d.Numbers = numbers
			d.Count = max(d.Count, s.count) + 1
		}
		return struct{}{}, changed, err
	}, nil)
	return err
}

// mark is the path of the mark.
func (s *Store) mark() string { return s.path + ".mark" }

// checkMark returns an error if the file, which is locked, has fewer changes than its mark. A
// mark that cannot be read stands for a first change.
func (s *Store) checkMark(d *State) error {
	b, err := os.ReadFile(s.mark())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return failed(s.mark(), err)
	}
	var count int64
	if err == nil && markFormat.Decode(b, &count) != nil {
		count = 1
	}
	s.count = max(s.count, count, d.Count)
	if d.Count < s.count { //mutant:file-mark
		return fmt.Errorf("%w: it has %d changes of numbers, and this machine has made %d", ErrOther,
			d.Count, s.count)
	}
	return nil
}

// saveMark stores the mark of a file that is stored. A crash between both leaves an older mark,
// which refuses nothing.
func (s *Store) saveMark(d *State, lock *filelock.File) error {
	b, err := markFormat.Encode(d.Count)
	if err == nil {
		err = s.replace(s.mark(), b, lock)
	}
	return err
}
