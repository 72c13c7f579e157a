package statefile

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/filelock"
	"github.com/unalike-id/unalike/internal/filesys"
)

// recordSize is the space in a file for each of its two records, in bytes.
const recordSize = 64 << 10

// MaxContent is the size of the largest content that a [File] is sure to store, in bytes of JSON.
const MaxContent = recordSize - 1<<10

// tolerance is the largest difference between the time in a record and the change time of its file.
// Both are read when the record is written.
const tolerance = 2 * time.Second

// ErrInUse is wrapped by the error of [File.Load] while another File, usually of another process,
// has the lock.
var ErrInUse = errors.New("it is in use")

// fileFormat is the format of the records.
var fileFormat = Format{Name: "unalike-state", Version: 3}

// record is one of the two records of a file.
type record struct {
	Sequence uint64          `json:"sequence"` // one more than that of the record before
	Written  int64           `json:"written"`  // microseconds since 1970, by the system's clock
	Window   int64           `json:"window"`   // Options.Window, in microseconds
	PID      int             `json:"pid"`      // of the process that wrote it
	Home     origin          `json:"home"`
	Content  json.RawMessage `json:"content"`
}

// origin identifies a file. A copy of the file has another origin.
type origin struct {
	Home
	Device uint64 `json:"device"`
	Inode  uint64 `json:"inode"`
}

// Options are the settings of [New].
type Options struct {
	// Window is how far ahead of the clock the high-water mark in the content is when it is saved.
	// Load does not use a file that was changed more than half of that, or 2 s, before or after its
	// record was written.
	Window time.Duration
	// System is the machine. Nil: [Host].
	System *System
}

// System has the functions with which a [File] reads the state of the machine and writes to the
// disk. Tests replace them.
type System struct {
	Home    func() Home
	Stamp   func(*os.File) (stamp filesys.Stamp, known bool, err error)
	Network func(*os.File) (name string, err error)
	Write   func(f *os.File, b []byte, at int64) (int, error)
	Sync    func(*os.File) error
	SyncDir func(path string) error
	Now     func() time.Time
}

// Host returns the functions for this machine.
func Host() *System {
	return &System{
		Home: Here, Stamp: filesys.StampOf, Network: filesys.Network,
		Write: (*os.File).WriteAt, Sync: (*os.File).Sync, SyncDir: filesys.SyncDir,
		Now: time.Now, //nolint:forbidigo // compared with the time that the system gives a file
	}
}

// File is a state file: it stores one value for the next process that opens the file. The file is
// locked from [File.Load] to [File.Close]. It has two records with checksums, which are written
// alternately and in place. Load uses the newer one only if both can be read and are consecutive.
// So it detects a write that was cut off by a crash, and a record that was lost.
//
// A record is used only by a process on the same machine since its last boot, and only in the file
// for which it was written: not in a copy, and not if an older record was restored.
//
// Load, Save and Close must not be called concurrently.
type File struct {
	path string
	o    Options
	opened
}

// opened is a locked file.
type opened struct {
	lock   *filelock.File // nil: the file is not locked
	origin origin
	next   uint64 // the sequence of the record that Save writes next; its parity selects the slot
}

// New returns a File for a path. It does not access the file system.
func New(path string, o Options) *File {
	if o.System == nil {
		o.System = Host()
	}
	return &File{path: path, o: o}
}

// Path returns the path that [New] was called with. It may be called concurrently.
func (f *File) Path() string { return f.path }

// Load locks the file, creates it if necessary, and decodes the content of its newest record into
// content, a pointer. It leaves content unchanged if nothing was ever saved, and if the records
// must not be used: then why is the reason. The next Save replaces such records, also those of
// another version of the format.
//
// The error wraps [ErrInUse] if another File has the lock, and [coord.ErrInvalid] if no state file
// can be at the path: the file belongs to another program, is on a network file system, or cannot
// be written by this user. Other errors are those of the disk. After an error the file is not
// locked, and Load may be called again.
func (f *File) Load(content any) (why string, err error) {
	path, err := Resolve(f.path)
	if err != nil {
		return "", err
	}
	lock, err := filelock.LockOwn(path)
	if _, held := errors.AsType[*filelock.HeldError](err); held {
		return "", fmt.Errorf("state file %q: %w by %s; it is waited for: give each generator a "+
			"file of its own, or end the one that has it first", f.path, ErrInUse, writer(path))
	}
	if err != nil {
		return "", OpenError(path, err)
	}
	f.opened = opened{lock: lock, next: 1}
	if why, err = f.read(content); err != nil {
		_ = f.Close()
		return "", err
	}
	return why, nil
}

// writer describes the process that wrote the newest record of a file.
func writer(path string) string {
	pid, err := Peek(path, &json.RawMessage{})
	switch {
	case err != nil:
		return "another process"
	case pid == os.Getpid():
		return fmt.Sprintf("this process, %d", pid)
	}
	return fmt.Sprintf("process %d", pid)
}

// Peek decodes the content of the newest record of a file, which another File may have locked, and
// returns the ID of the process that wrote it. It does not notice a copy.
func Peek(path string, content any) (pid int, err error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	r, err := newest(b)
	if err != nil {
		return 0, err
	}
	return r.PID, decodeStrictly(r.Content, content)
}

// read is Load for a file that is locked.
func (f *File) read(content any) (why string, err error) {
	file := f.lock.File()
	if err := RefuseNetwork(file, f.path, f.o.System.Network); err != nil {
		return "", err
	}
	stamp, known, err := f.o.System.Stamp(file)
	b, unread := io.ReadAll(io.NewSectionReader(file, 0, 2*recordSize))
	if err = cmp.Or(err, unread); err != nil {
		return "", fmt.Errorf("state file %q: %w", f.path, err)
	}
	f.origin = origin{f.o.System.Home(), stamp.Device, stamp.Inode}
	r, err := newest(b)
	switch {
	case errors.Is(err, ErrForeign):
		return "", fmt.Errorf("%w: state file %q: %w; name another file, or delete it if it is one "+
			"of this program", coord.ErrInvalid, f.path, err)
	case errors.Is(err, ErrBlank):
		return "", f.clear()
	case err != nil:
		return err.Error(), f.clear()
	}
	f.next = r.Sequence + 1
	if why := f.misfit(r, stamp, known); why != "" {
		return why, nil
	}
	fresh := reflect.New(reflect.TypeOf(content).Elem())
	if err := decodeStrictly(r.Content, fresh.Interface()); err != nil {
		return err.Error(), nil //nolint:nilerr // it is the reason
	}
	reflect.ValueOf(content).Elem().Set(fresh.Elem())
	return "", nil
}

// newest returns the newer of the two records in b. The error is [ErrBlank] if there is none, and
// [ErrForeign] if another program wrote b. Any other error is a reason not to use either record: if
// one cannot be read, or the two are not consecutive, the newer one may have been lost.
func newest(b []byte) (*record, error) {
	var records [2]record // with sequence 0: there is none
	var reason error
	for i := range records {
		slot := b[min(i*recordSize, len(b)):min((i+1)*recordSize, len(b))]
		err := fileFormat.Decode(slot, &records[i])
		switch {
		case errors.Is(err, ErrBlank), reason != nil && errors.Is(err, ErrForeign):
		case err != nil:
			reason = err
		case int(records[i].Sequence%2) != i:
			reason = errors.New("its records are out of place")
		}
	}
	older, newer := &records[0], &records[1]
	if older.Sequence > newer.Sequence {
		older, newer = newer, older
	}
	switch {
	case newer.Sequence == 0:
		return nil, cmp.Or(reason, ErrBlank)
	case errors.Is(reason, ErrForeign):
		return nil, errDamaged
	case reason != nil:
		return nil, reason
	case older.Sequence != newer.Sequence-1: //mutant:state-pair
		return nil, errors.New("one of its records is missing, or of another file")
	}
	return newer, nil
}

// misfit returns the reason not to use a record; "" if this file has had it since the last boot.
func (f *File) misfit(r *record, stamp filesys.Stamp, known bool) string {
	// Within half a window, nothing above the mark of the record can have been stamped. So a record
	// that was restored so soon does no harm.
	limit := min(tolerance, time.Duration(r.Window)*time.Microsecond/2) //mutant:state-restored
	written := time.UnixMicro(r.Written)
	switch {
	case !known || f.origin.Boot == "": //mutant:state-no-boot
		return "this system does not tell a file from its copy"
	case r.Home.Boot != f.origin.Boot:
		return "the machine was started again since, or it is another one"
	case r.Home != f.origin: //mutant:state-copy
		return "it is a copy"
	case stamp.Changed.Sub(written).Abs() > limit:
		return fmt.Sprintf("it was changed by something else, or is a copy: its record is of %s, and "+
			"the file of %s", written.UTC().Format(time.RFC3339Nano),
			stamp.Changed.UTC().Format(time.RFC3339Nano))
	case stamp.Links != 1:
		return fmt.Sprintf("it has %d names", stamp.Links)
	}
	return ""
}

// Save stores content in place of the older record, and returns when it is on the disk; it waits as
// long as the disk does. After an error, the next Load finds this content, the one before, or a
// reason not to use the file. If the file was deleted or replaced since Load, Save erases the old
// one and continues in the file that now has the name.
func (f *File) Save(content any) error {
	if f.lock == nil {
		return fmt.Errorf("state file %q is not locked; call Load first", f.path)
	}
	if !f.lock.Current() {
		if err := f.follow(); err != nil {
			return err
		}
	}
	body, err := json.Marshal(content)
	if err != nil {
		return f.failed(err)
	}
	b, err := fileFormat.Encode(record{
		Sequence: f.next, Written: f.o.System.Now().UnixMicro(), Window: f.o.Window.Microseconds(),
		PID: os.Getpid(), Home: f.origin, Content: body,
	})
	if err != nil {
		return f.failed(err)
	}
	if len(b) > recordSize { //mutant:state-large
		return f.failed(fmt.Errorf("the record has %d bytes; at most %d are possible", len(b),
			recordSize))
	}
	if err := f.put(b, int64(f.next%2)*recordSize); err != nil { //mutant:state-again
		return err
	}
	stamp, known, err := f.o.System.Stamp(f.lock.File())
	if err != nil {
		return f.failed(err)
	}
	if known && stamp.Links != 1 || !f.lock.Current() { //mutant:state-replaced
		return fmt.Errorf("state file %q was deleted, replaced or linked while it was in use; leave "+
			"it in place", f.path)
	}
	f.next++ // an error leaves it, because Load refuses records that are not consecutive
	return nil
}

// follow locks the file that now has the name of the locked one. Before it unlocks that one, it
// erases it: under another name, its record must not be used.
func (f *File) follow() error {
	next := New(f.lock.Path(), f.o)
	if _, err := next.Load(&json.RawMessage{}); err != nil {
		return err
	}
	if err := f.clear(); err != nil { //mutant:state-erase
		_ = next.Close()
		return err
	}
	_ = f.Close()
	f.opened = next.opened
	return nil
}

// clear erases both records. It reserves the space for two, so that a full disk is noticed when the
// file is opened and not later.
func (f *File) clear() error {
	if err := f.put(bytes.Repeat([]byte("\n"), 2*recordSize), 0); err != nil {
		return err
	}
	f.next = 1
	if err := f.o.System.SyncDir(filepath.Dir(f.lock.Path())); err != nil {
		return f.failed(err)
	}
	return nil
}

// put writes b at an offset and returns when it is on the disk.
func (f *File) put(b []byte, at int64) error {
	_, err := f.o.System.Write(f.lock.File(), b, at)
	if err == nil {
		err = f.o.System.Sync(f.lock.File()) //mutant:state-sync
	}
	if err != nil {
		return f.failed(err)
	}
	return nil
}

// failed adds the path to an error of the disk.
func (f *File) failed(err error) error {
	if filesys.DiskFull(err) {
		return fmt.Errorf("state file %q cannot be written: the disk is full: %w", f.path, err)
	}
	return fmt.Errorf("state file %q cannot be written: %w", f.path, err)
}

// Close unlocks the file. It does nothing if the file is not locked.
func (f *File) Close() error {
	if f.lock == nil {
		return nil
	}
	err := f.lock.File().Close() // which unlocks it
	f.lock = nil
	return err
}
