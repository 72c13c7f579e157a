package local

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/filelock"
	"github.com/unalike-id/unalike/internal/filesys"
	"github.com/unalike-id/unalike/internal/lifetime"
	"github.com/unalike-id/unalike/internal/statefile"
)

// system is what the package asks of the machine, so that tests can be another one.
type system struct {
	stamp   func(*os.File) (filesys.Stamp, bool, error)
	home    func() statefile.Home
	network func(*os.File) (string, error)
	write   func(*os.File, []byte, int64) (int, error)
	sync    func(*os.File) error
	now     func() time.Time
}

func realSystem() system {
	return system{
		stamp: filesys.StampOf, home: statefile.Here, network: filesys.Network,
		write: (*os.File).WriteAt, sync: (*os.File).Sync, now: lifetime.Now,
	}
}

// errInUse says that another process has the file.
var errInUse = errors.New("it is in use")

// file is a state file, locked.
type file struct {
	system
	path   string
	lock   *filelock.File
	home   home
	window time.Duration
	// next is the sequence of the record that is written next, and so its place: the older
	// of the two records is written over.
	next uint64
}

// openFile locks and reads a state file. There are no grants if what is in the file is not to
// be used, and why says why; an empty file has neither.
func openFile(path string, sys system, window time.Duration) (f *file, grants []*entry, why string,
	err error,
) {
	path, err = statefile.Resolve(path)
	if err != nil {
		return nil, nil, "", err
	}
	f = &file{system: sys, path: path, window: window, next: 1}
	if f.lock, err = filelock.LockOwn(path); err != nil {
		if _, held := errors.AsType[*filelock.HeldError](err); held {
			return nil, nil, "", fmt.Errorf("state file %q: %w%s; it is waited for: give each generator a "+
				"file of its own, or end the one that has it first", path, errInUse, holder(path))
		}
		return nil, nil, "", statefile.OpenError(path, err)
	}
	if grants, why, err = f.judge(); err != nil {
		f.lock.Unlock()
	}
	return f, grants, why, err
}

// holder says which process has the file, as far as the file tells.
func holder(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	newest, _, err := newestOf(b)
	switch {
	case err != nil || newest == nil:
		return " by another process"
	case newest.PID == os.Getpid():
		return fmt.Sprintf(" by this process, %d", newest.PID)
	}
	return fmt.Sprintf(" by process %d", newest.PID)
}

// judge reads the file, and finds out whether it is the one that was written here.
func (f *file) judge() (grants []*entry, why string, err error) {
	if err := statefile.RefuseNetwork(f.lock.File(), f.path, f.network); err != nil {
		return nil, "", err
	}
	stamp, known, err := f.stamp(f.lock.File())
	if err != nil {
		return nil, "", fmt.Errorf("state file %q: %w", f.path, err)
	}
	f.home = home{f.system.home(), stamp.Device, stamp.Inode}
	b, err := io.ReadAll(io.NewSectionReader(f.lock.File(), 0, 2*recordSize+1))
	if err != nil {
		return nil, "", fmt.Errorf("state file %q: %w", f.path, err)
	}
	if statefile.Blank(b) {
		return nil, "", f.prepare()
	}
	newest, why, err := newestOf(b)
	if err != nil {
		return nil, "", fmt.Errorf("%w: state file %q: %w; name another file, or delete it if it is one "+
			"of this program", coord.ErrInvalid, f.path, err)
	}
	if newest == nil {
		return nil, why, f.prepare()
	}
	f.next = newest.Sequence + 1
	if why = f.strange(newest, stamp, known); why != "" {
		return nil, why, nil
	}
	return newest.Grants, "", nil
}

// tolerance is how far the time in a record and that of the file may be apart at most: both are of
// the moment of writing. It is no more than half the window with which the record was written:
// nothing above its mark can have been stamped so soon, which a copy of it would not know.
const tolerance = 2 * time.Second

// strange says why a record may be a copy; empty: it is the file that was written here, since
// when the machine has not been started again.
func (f *file) strange(r *record, stamp filesys.Stamp, known bool) string {
	apart := stamp.Changed.Sub(time.UnixMicro(r.Written)).Abs()
	switch {
	case !known || f.home.Boot == "":
		return "this system does not tell a file from its copy"
	case r.Home.Boot != f.home.Boot:
		return "the machine was started again since, or it is another one"
	case r.Home != f.home:
		return "it is a copy"
	case apart > min(tolerance, time.Duration(r.Window)*time.Microsecond/2):
		return fmt.Sprintf("it was changed by something else, or is a copy: its record is of %s, and "+
			"the file of %s",
			time.UnixMicro(r.Written).UTC().Format(time.RFC3339Nano),
			stamp.Changed.UTC().Format(time.RFC3339Nano))
	case stamp.Links != 1:
		return fmt.Sprintf("it has %d names", stamp.Links)
	}
	return ""
}

// prepare makes room for both records, so that a disk that is full is noticed now and not
// when a window ends.
func (f *file) prepare() error {
	f.next = 1
	if err := f.put(bytes.Repeat([]byte("\n"), 2*recordSize), 0); err != nil {
		return err
	}
	if err := filesys.SyncDir(filepath.Dir(f.path)); err != nil {
		return f.failed(err)
	}
	return nil
}

// put writes b at an offset and returns when it is on the disk.
func (f *file) put(b []byte, at int64) error {
	_, err := f.write(f.lock.File(), b, at)
	if err == nil {
		err = f.sync(f.lock.File())
	}
	if err != nil {
		return f.failed(err)
	}
	return nil
}

func (f *file) failed(err error) error {
	if filesys.DiskFull(err) {
		return fmt.Errorf("state file %q cannot be written: the disk is full: %w", f.path, err)
	}
	return fmt.Errorf("state file %q cannot be written: %w", f.path, err)
}

// save writes a record and returns when it is on the disk. One call at a time.
func (f *file) save(r *record) error {
	if !f.lock.Current() {
		if err := f.follow(); err != nil {
			return err
		}
	}
	r.Sequence, r.Home, r.PID, r.Window = f.next, f.home, os.Getpid(), f.window.Microseconds()
	r.Written = f.now().UnixMicro()
	b, err := format.Encode(r)
	if err != nil {
		return err
	}
	if err := f.put(b, int64(r.Sequence%2)*recordSize); err != nil {
		return err
	}
	stamp, known, err := f.stamp(f.lock.File())
	switch {
	case err != nil:
		return f.failed(err)
	case known && stamp.Links != 1 || !f.lock.Current():
		return fmt.Errorf("state file %q was deleted, replaced or linked while it was in use; leave "+
			"it in place", f.path)
	}
	f.next++
	return nil
}

// follow goes on in the file that has the name now, as the one that is locked has been deleted or
// replaced. What was in that one is wiped before it is let go: by another name somebody could use
// it.
func (f *file) follow() error {
	next, _, _, err := openFile(f.path, f.system, f.window)
	if err != nil {
		return err
	}
	if err := f.prepare(); err != nil {
		next.lock.Unlock()
		return err
	}
	f.lock.Unlock()
	*f = *next
	return nil
}
