package local

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/filelock"
	"github.com/unalike-id/unalike/internal/filesys"
	"github.com/unalike-id/unalike/internal/lifetime"
)

// system is what the package asks of the machine, so that tests can be another one.
type system struct {
	stamp   func(*os.File) (filesys.Stamp, bool, error)
	boot    func() string
	machine func() string
	network func(*os.File) (string, error)
	write   func(*os.File, []byte, int64) error
	sync    func(*os.File) error
	now     func() time.Time
}

func realSystem() system {
	return system{
		stamp: filesys.StampOf, boot: filesys.BootID, machine: filesys.MachineID, network: filesys.Network,
		write: func(f *os.File, b []byte, at int64) error { _, err := f.WriteAt(b, at); return err },
		sync:  (*os.File).Sync,
		now:   lifetime.Now,
	}
}

// errInUse says that another process has the file.
var errInUse = errors.New("it is in use")

// file is a state file, locked.
type file struct {
	system
	path string
	lock *filelock.File
	home home
	// next is the sequence of the record that is written next, and so its place: the older
	// of the two records is written over.
	next uint64
}

// openFile locks and reads a state file. The record is nil if what is in the file is not to
// be used, and why says why; an empty file has neither.
func openFile(path string, sys system) (f *file, found *record, why string, err error) {
	path, err = resolvePath(path)
	if err != nil {
		return nil, nil, "", err
	}
	f = &file{system: sys, path: path, next: 1}
	if f.lock, err = filelock.LockOwn(path); err != nil {
		if _, held := errors.AsType[*filelock.HeldError](err); held {
			return nil, nil, "", fmt.Errorf("state file %q: %w%s; it is waited for: give each generator a file of its own, or end the one that has it first", path, errInUse, holder(path))
		}
		return nil, nil, "", openError(path, err)
	}
	found, why, err = f.judge()
	if err != nil {
		f.lock.Unlock()
		return nil, nil, "", err
	}
	return f, found, why, nil
}

// resolvePath follows symbolic links: the lock must be the same by whatever name.
func resolvePath(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err == nil && strings.ContainsRune(path, 0) {
		err = errors.New("there is a NUL byte in the path; no file can have such a name")
	}
	if err != nil {
		return "", fmt.Errorf("%w: state file %q: %w", coord.ErrInvalid, path, err)
	}
	switch info, err := os.Stat(abs); {
	case errors.Is(err, fs.ErrNotExist):
		dir, err := filepath.EvalSymlinks(filepath.Dir(abs))
		if err != nil {
			return "", openError(abs, err)
		}
		return filepath.Join(dir, filepath.Base(abs)), nil
	case err != nil:
		return "", openError(abs, err)
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("%w: state file %q is not a regular file but %v; name a file", coord.ErrInvalid, abs, info.Mode().Type())
	}
	return filepath.EvalSymlinks(abs)
}

// openError explains why a state file cannot be opened. What the configuration is to blame
// for is final.
func openError(path string, err error) error {
	folder, ferr := os.Stat(filepath.Dir(path))
	switch {
	case errors.Is(err, fs.ErrNotExist) && ferr == nil && folder.IsDir():
		return fmt.Errorf("%w: state file %q: its folder is there, but no file can be made in it: name another folder: %w", coord.ErrInvalid, path, err)
	case errors.Is(err, fs.ErrNotExist), filesys.NotAFolder(err):
		return fmt.Errorf("%w: state file %q: its folder does not exist; create it: %w", coord.ErrInvalid, path, err)
	case filesys.PathTooLong(err):
		return fmt.Errorf("%w: state file %.80q...: the path is too long: it has %d bytes, and its last name %d; name a shorter one", coord.ErrInvalid, path, len(path), len(filepath.Base(path)))
	case filesys.LinksInCircle(err):
		return fmt.Errorf("%w: state file %q: the path leads through symbolic links that go in a circle; name another one", coord.ErrInvalid, path)
	case errors.Is(err, fs.ErrPermission), filesys.ReadOnly(err):
		return fmt.Errorf("%w: state file %q: this user may not write it: %w", coord.ErrInvalid, path, err)
	case errors.Is(err, filelock.ErrUnsupported):
		return fmt.Errorf("%w: state file %q: %w", coord.ErrInvalid, path, err)
	}
	return fmt.Errorf("state file %q: %w", path, err)
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
func (f *file) judge() (found *record, why string, err error) {
	if err := f.refuseNetwork(f.lock.File(), f.path); err != nil {
		return nil, "", err
	}
	stamp, known, err := f.stamp(f.lock.File())
	if err != nil {
		return nil, "", fmt.Errorf("state file %q: %w", f.path, err)
	}
	f.home = home{Machine: f.machine(), Boot: f.boot(), Device: stamp.Device, Inode: stamp.Inode}
	b, err := io.ReadAll(io.NewSectionReader(f.lock.File(), 0, 2*recordSize+1))
	if err != nil {
		return nil, "", fmt.Errorf("state file %q: %w", f.path, err)
	}
	if blank(b) {
		return nil, "", f.prepare()
	}
	newest, why, err := newestOf(b)
	if err != nil {
		return nil, "", fmt.Errorf("%w: state file %q: %w; name another file, or delete it if it is one of this program", coord.ErrInvalid, f.path, err)
	}
	if newest == nil {
		return nil, why, f.prepare()
	}
	f.next = newest.Sequence + 1
	if why = f.strange(newest, stamp, known); why != "" {
		return nil, why, nil
	}
	return newest, "", nil
}

// tolerance is how far the time in a record and that of the file may be apart: both are of
// the moment of writing.
const tolerance = 2 * time.Second

// strange says why a record may be a copy; empty: it is the file that was written here, since
// when the machine has not been started again.
func (f *file) strange(r *record, stamp filesys.Stamp, known bool) string {
	apart := stamp.Changed.Sub(time.UnixMicro(r.Written))
	switch {
	case !known || f.home.Boot == "":
		return "this system does not tell a file from its copy"
	case r.Home.Boot != f.home.Boot:
		return "the machine was started again since, or it is another one"
	case r.Home != f.home:
		return "it is a copy"
	case apart > tolerance || apart < -tolerance:
		return fmt.Sprintf("it was changed by something else, or is a copy: its record is of %s, and the file of %s",
			time.UnixMicro(r.Written).UTC().Format(time.RFC3339Nano), stamp.Changed.UTC().Format(time.RFC3339Nano))
	case stamp.Links != 1:
		return fmt.Sprintf("it has %d names", stamp.Links)
	}
	return ""
}

// newestOf returns the newer of the two records in b; nil, and why, if they do not belong
// together: the newer one may be the one that cannot be read, and a grant in the older one
// may have been given back since. The error is that of a file that is not to be written over:
// somebody else's, or one of another version of this program.
func newestOf(b []byte) (newest *record, why string, _ error) {
	var records [2]*record
	ours := false
	var foreign error
	for i := range records {
		at := b[min(i*recordSize, len(b)):min((i+1)*recordSize, len(b))]
		r, err := decode(at)
		switch {
		case err == nil && int(r.Sequence%2) != i:
			ours, why = true, "its records are out of place"
		case err == nil:
			ours, records[i] = true, r
		case errors.Is(err, errBlank):
		case errors.Is(err, errVersion):
			return nil, "", err
		case begun(at):
			ours, why = true, err.Error()
		default:
			foreign = err
		}
	}
	switch {
	case foreign != nil && !ours:
		return nil, "", foreign
	case foreign != nil:
		return nil, foreign.Error(), nil //nolint:nilerr // why says what is wrong
	case why != "":
		return nil, why, nil
	}
	even, odd := records[0], records[1]
	switch {
	case even == nil && odd == nil:
		return nil, "nothing is written in it", nil
	case even == nil && odd.Sequence == 1:
		return odd, "", nil
	case even == nil || odd == nil:
		return nil, "one of its records is missing", nil
	case even.Sequence == odd.Sequence+1:
		return even, "", nil
	case odd.Sequence == even.Sequence+1:
		return odd, "", nil
	}
	return nil, "its records are not of one file", nil
}

// prepare makes room for both records, so that a disk that is full is noticed now and not
// when a window ends.
func (f *file) prepare() error {
	f.next = 1
	blank := bytes.Repeat([]byte("\n"), 2*recordSize)
	err := f.write(f.lock.File(), blank, 0)
	if err == nil {
		err = f.sync(f.lock.File())
	}
	if err == nil {
		err = filesys.SyncDir(filepath.Dir(f.path))
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
	r.Sequence, r.Home, r.PID = f.next, f.home, os.Getpid()
	r.Written = f.now().UnixMicro()
	b, err := r.encode()
	if err != nil {
		return err
	}
	if err := f.write(f.lock.File(), b, int64(r.Sequence%2)*recordSize); err != nil {
		return f.failed(err)
	}
	if err := f.sync(f.lock.File()); err != nil {
		return f.failed(err)
	}
	stamp, known, err := f.stamp(f.lock.File())
	switch {
	case err != nil:
		return f.failed(err)
	case known && stamp.Links != 1 || !f.lock.Current():
		return fmt.Errorf("state file %q was deleted, replaced or linked while it was in use; leave it in place", f.path)
	}
	f.next++
	return nil
}

// close frees the lock.
func (f *file) close() { f.lock.Unlock() }
