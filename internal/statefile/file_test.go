//go:build unix

package statefile_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/filesys"
	"github.com/unalike-id/unalike/internal/leaktest"
	"github.com/unalike-id/unalike/internal/safetytest"
	"github.com/unalike-id/unalike/internal/statefile"
)

const (
	recordSize = 64 << 10
	window     = 3 * time.Second
)

var (
	errDisk = errors.New("input/output error")
	home    = statefile.Home{Machine: "machine-1", Boot: "boot-1"}
)

// machine is a machine with one state file. Its clock stands still until the test moves it.
type machine struct {
	*testing.T
	path  string
	now   time.Time
	home  statefile.Home
	stamp func(*filesys.Stamp) // changes what the file system reports; may be nil
	// changed is when the file was written last.
	changed time.Time
	// write and sync are the errors of writes and syncs. A write that fails writes torn bytes.
	write, sync error
	torn        int
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	return &machine{
		T: t, path: filepath.Join(t.TempDir(), "state"), home: home,
		now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
	}
}

// file returns a File for the machine's state file.
func (m *machine) file() *statefile.File {
	return statefile.New(m.path, statefile.Options{Window: window, System: &statefile.System{
		Home:    func() statefile.Home { return m.home },
		Network: func(*os.File) (string, error) { return "", nil },
		Now:     func() time.Time { return m.now },
		Stamp: func(f *os.File) (filesys.Stamp, bool, error) {
			s, _, err := filesys.StampOf(f)
			s.Changed = m.changed
			if m.stamp != nil {
				m.stamp(&s)
			}
			return s, true, err
		},
		Write: func(f *os.File, b []byte, at int64) (int, error) {
			m.changed = m.now
			if m.write != nil {
				_, err := f.WriteAt(b[:min(m.torn, len(b))], at)
				return m.torn, errors.Join(m.write, err)
			}
			return f.WriteAt(b, at)
		},
		Sync:    func(*os.File) error { return m.sync },
		SyncDir: func(string) error { return m.sync },
	}})
}

// put writes the file as another program does. It does not truncate it first, which takes long on
// some file systems.
func (m *machine) put(b []byte) {
	m.Helper()
	f, err := os.OpenFile(m.path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		m.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(b, 0); err != nil {
		m.Fatal(err)
	}
	if err := f.Truncate(int64(len(b))); err != nil {
		m.Fatal(err)
	}
	m.changed = m.now
}

// bytes returns the content of the file.
func (m *machine) bytes() []byte {
	m.Helper()
	b, err := os.ReadFile(m.path)
	if err != nil {
		m.Fatal(err)
	}
	return b
}

// save saves marks one after the other.
func (m *machine) save(f *statefile.File, marks ...int64) {
	m.Helper()
	for _, mark := range marks {
		if err := f.Save(content{mark, "orders"}); err != nil {
			m.Fatal(err)
		}
	}
}

// load loads a file, and fails the test if the mark or the reason differ, or if a file that is not
// used changes the content.
func (m *machine) load(f *statefile.File, want int64, reason string) {
	m.Helper()
	got := content{Mark: -1}
	why, err := f.Load(&got)
	if err != nil || !strings.Contains(why, reason) || reason == "" && why != "" {
		m.Fatalf("loaded: %+v, %q, %v; want %d, %q", got, why, err, want, reason)
	}
	if want < 0 && got != (content{Mark: -1}) || want >= 0 && got != (content{want, "orders"}) {
		safetytest.Of(m).Errorf("loaded: %+v, %q; want %d", got, why, want)
	}
	m.Cleanup(func() { _ = f.Close() })
}

// saved returns the closed file of a process that has saved marks.
func (m *machine) saved(marks ...int64) {
	m.Helper()
	f := m.file()
	m.load(f, -1, "")
	m.save(f, marks...)
	if err := f.Close(); err != nil {
		m.Fatal(err)
	}
}

// refused fails the test unless an error has a text and names the file, and is final or not.
func (m *machine) refused(err error, permanent bool, text string) {
	m.Helper()
	if err == nil || errors.Is(err, coord.ErrInvalid) != permanent ||
		!strings.Contains(err.Error(), text) || !strings.Contains(err.Error(), m.path) {
		m.Errorf("%v; want %q, final %t, with the name of the file", err, text, permanent)
	}
}

// childPath is set for a process that saves a mark in a file and keeps it until it is killed.
const childPath = "UNALIKE_TEST_STATE_PATH"

func TestMain(m *testing.M) {
	path := os.Getenv(childPath)
	if path == "" {
		leaktest.Main(m)
	}
	f := statefile.New(path, statefile.Options{Window: window})
	_, err := f.Load(&content{})
	fmt.Println(errors.Join(err, f.Save(content{17, "orders"})))
	_, _ = os.Stdin.Read(make([]byte, 1))
}

// TestFile_InUseByAnotherProcess: on this machine, a second process cannot load a file, and the
// error names the first. When that is killed, the second one loads its content.
func TestFile_InUseByAnotherProcess(t *testing.T) {
	m := newMachine(t)
	child := drivertest.StartChild(t, childPath+"="+m.path)
	if says := child.Line(t); says != "<nil>" {
		t.Fatal(says)
	}
	f := statefile.New(m.path, statefile.Options{Window: window})
	_, err := f.Load(&content{})
	m.refused(err, false, fmt.Sprintf("it is in use by process %d; "+
		"it is waited for: give each generator a file of its own", child.PID()))
	if !errors.Is(err, statefile.ErrInUse) {
		t.Errorf("%v is not ErrInUse", err)
	}
	child.Kill()
	<-child.Done()
	var got content
	if why, err := f.Load(&got); statefile.Survives("here") &&
		(got.Mark != 17 || why != "" || err != nil) {
		t.Errorf("loaded: %+v, %q, %v", got, why, err)
	}
	_, err = statefile.New(m.path, statefile.Options{}).Load(&got)
	m.refused(err, false, "it is in use by process ") // which has written the record
	if err := f.Save(got); err != nil {
		t.Fatal(err)
	}
	_, err = statefile.New(m.path, statefile.Options{}).Load(&got)
	m.refused(err, false, fmt.Sprintf("it is in use by this process, %d", os.Getpid()))
	if err := errors.Join(f.Close(), f.Close()); err != nil {
		t.Error(err)
	}
	m.refused(f.Save(got), false, "is not locked; call Load first")
	// On a disk that gets full later, the file has its room already.
	info, err := os.Stat(m.path)
	if err != nil || info.Mode().Perm() != 0o600 || info.Size() != 2*recordSize {
		t.Errorf("%v, %v", info, err)
	}
}

// TestFile_Damaged: a file that was truncated or has a flipped bit is not used, and a Save replaces
// it.
func TestFile_Damaged(t *testing.T) {
	m := newMachine(t)
	m.saved(1, 2, 3)
	whole := m.bytes()
	flipped := bytes.Clone(whole)
	flipped[recordSize+200] ^= 1
	for _, test := range []struct {
		file   []byte
		reason string
	}{
		{whole[:len(whole)-1], ""},
		{whole[:recordSize+100], "it is damaged"},
		{whole[:recordSize], "one of its records is missing"},
		{whole[:100], "it is damaged"},
		{flipped, "it is damaged"},
	} {
		m.put(test.file)
		f := m.file()
		want := int64(3)
		if test.reason != "" {
			want = -1
		}
		m.load(f, want, test.reason)
		m.save(f, 4)
		_ = f.Close()
		m.load(f, 4, "")
		_ = f.Close()
	}
	m.put(nil)
	m.load(m.file(), -1, "")
}

// TestFile_PutBack: a file or record that is put back is not used. If that is done so soon that
// nothing above its mark was stamped, it is.
func TestFile_PutBack(t *testing.T) {
	m := newMachine(t)
	m.saved(1, 2)
	older := m.bytes()
	m.now = m.now.Add(time.Minute)
	f := m.file()
	m.load(f, 2, "")
	m.save(f, 3, 4, 5)
	_ = f.Close()
	newer := m.bytes()
	first, second := newer[:recordSize:recordSize], newer[recordSize:]
	const apart = window/2 + time.Millisecond
	for _, test := range []struct {
		file   []byte
		after  time.Duration
		reason string
	}{
		{older, 0, "it was changed by something else, or is a copy"},
		{newer, apart, "it was changed by something else, or is a copy"},
		{newer, -apart, "it was changed by something else, or is a copy"},
		{first, 0, "one of its records is missing"},
		{append(older[:recordSize:recordSize], second...), 0, "is missing, or of another file"},
		{append(second[:recordSize:recordSize], first...), 0, "its records are out of place"},
	} {
		written := m.now
		m.now = m.now.Add(test.after)
		m.put(test.file)
		m.now = written
		f = m.file()
		m.load(f, -1, test.reason)
		_ = f.Close()
	}
	m.now = m.now.Add(window / 2)
	m.put(newer)
	m.load(m.file(), 5, "")
}

// TestFile_Misfits: a file of another machine or boot, or with another stamp, is not used. The next
// Save replaces it.
func TestFile_Misfits(t *testing.T) {
	const apart = window/2 + time.Millisecond
	for name, test := range map[string]struct {
		home   statefile.Home
		stamp  func(*filesys.Stamp)
		reason string
	}{
		"machine": {statefile.Home{Machine: "other", Boot: "boot-1"}, nil, "it is a copy"},
		"boot": {
			statefile.Home{Machine: "machine-1", Boot: "other"}, nil, "the machine was started again",
		},
		"device": {home, func(s *filesys.Stamp) { s.Device++ }, "it is a copy"},
		"inode":  {home, func(s *filesys.Stamp) { s.Inode++ }, "it is a copy"},
		"names":  {home, func(s *filesys.Stamp) { s.Links++ }, "it has 2 names"},
		"changed later": {
			home, func(s *filesys.Stamp) { s.Changed = s.Changed.Add(apart) }, "it was changed by",
		},
		"changed before": {
			home, func(s *filesys.Stamp) { s.Changed = s.Changed.Add(-apart) }, "it was changed by",
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.saved(1, 2)
			m.home, m.stamp = test.home, test.stamp
			f := m.file()
			m.load(f, -1, test.reason)
			_ = f.Close()
			m.stamp = nil
			if test.home == home {
				m.load(f, 2, "")
				return
			}
			m.load(f, -1, test.reason)
			m.save(f, 3)
			_ = f.Close()
			m.load(f, 3, "")
		})
	}
	m := newMachine(t)
	m.home.Boot = ""
	m.saved(1, 2)
	m.load(m.file(), -1, "this system does not tell a file from its copy")
}

// TestFile_Names: a copy, and a file with a second name, are not used; a symbolic link is the file.
func TestFile_Names(t *testing.T) {
	m := newMachine(t)
	path, other := m.path, m.path+".other"
	m.saved(1, 2)
	if err := os.WriteFile(other, m.bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	m.path = other
	m.load(m.file(), -1, "it is a copy")
	m.path = path
	if err := errors.Join(os.Remove(other), os.Link(path, other)); err != nil {
		t.Fatal(err)
	}
	f := m.file()
	m.load(f, -1, "it has 2 names")
	m.refused(f.Save(content{3, "orders"}), false,
		"was deleted, replaced or linked while it was in use; leave it in place")
	if err := os.Remove(other); err != nil {
		t.Fatal(err)
	}
	m.save(f, 4)
	if err := os.Symlink(path, other); err != nil {
		t.Fatal(err)
	}
	m.path = other
	link := m.file()
	if _, err := link.Load(&content{}); !errors.Is(err, statefile.ErrInUse) {
		t.Errorf("by another name: %v", err)
	}
	_ = f.Close()
	m.load(link, 4, "")
}

// TestFile_OtherVersion: a file of another version is not used, and replaced.
func TestFile_OtherVersion(t *testing.T) {
	for _, version := range []int{2, 4} {
		m := newMachine(t)
		b := encoded(t, statefile.Format{Name: "unalike-state", Version: version}, content{1, "orders"})
		m.put(append(b, bytes.Repeat([]byte("\n"), recordSize-len(b))...))
		f := m.file()
		m.load(f, -1, fmt.Sprintf(`it is of another version, "v%d", and this program reads v3`, version))
		m.save(f, 2)
		_ = f.Close()
		m.load(m.file(), 2, "")
	}
}

// TestFile_OtherContent: content with a field that the program does not have is not used.
func TestFile_OtherContent(t *testing.T) {
	m := newMachine(t)
	f := m.file()
	m.load(f, -1, "")
	if err := f.Save(map[string]int{"mark": 1, "more": 2}); err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
	m.load(m.file(), -1, `unknown field "more"`)
}

// TestFile_Refused: a file of another program, one on a network, and a path without a directory are
// final errors, and nothing is written. The same File loads when that has changed.
func TestFile_Refused(t *testing.T) {
	m := newMachine(t)
	f := m.file()
	for _, text := range []string{
		strings.Repeat("precious\n", 1000), strings.Repeat("precious", recordSize/4),
	} {
		m.put([]byte(text))
		_, err := f.Load(&content{})
		m.refused(err, true, "it is not a state file, or damaged; name another file, or delete it if "+
			"it is one of this program")
		if string(m.bytes()) != text {
			t.Errorf("it was overwritten with %.80q", m.bytes())
		}
	}
	if err := os.Remove(m.path); err != nil {
		t.Fatal(err)
	}
	m.load(f, -1, "")
	system := statefile.Host()
	system.Network = func(*os.File) (string, error) { return "NFS", nil }
	_ = f.Close()
	_, err := statefile.New(m.path, statefile.Options{System: system}).Load(&content{})
	m.refused(err, true, "is on a network file system, NFS")
	m.path = filepath.Join(m.path, "none", "state")
	_, err = m.file().Load(&content{})
	m.refused(err, true, "its folder does not exist; create it")
}

// TestFile_ReplacedWhileInUse: a file that is deleted, replaced or changed while it is in use has,
// after two saves, the content of the last one, and its former inode has none.
func TestFile_ReplacedWhileInUse(t *testing.T) {
	for name, replace := range map[string]func(path string, older []byte) error{
		"deleted": func(path string, _ []byte) error { return os.Remove(path) },
		"moved":   func(path string, _ []byte) error { return os.Rename(path, path+".old") },
		"replaced": func(path string, older []byte) error {
			return errors.Join(os.Rename(path, path+".old"), os.WriteFile(path, older, 0o600))
		},
		"written over": func(path string, older []byte) error { return os.WriteFile(path, older, 0o600) },
		"truncated":    func(path string, _ []byte) error { return os.Truncate(path, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			f := m.file()
			m.load(f, -1, "")
			m.save(f, 1, 2)
			older := m.bytes()
			m.save(f, 3)
			if err := replace(m.path, older); err != nil {
				t.Fatal(err)
			}
			m.save(f, 4, 5)
			_ = f.Close()
			m.load(m.file(), 5, "")
			if old, err := os.ReadFile(m.path + ".old"); err == nil && !statefile.Blank(old) {
				safetytest.Of(t).Errorf("the file that was replaced has %.80q", old)
			}
		})
	}
}

// TestFile_ReplacedWithAFileInUse: a file that was replaced with one that another File has locked,
// or with one of another program, is an error until that is gone.
func TestFile_ReplacedWithAFileInUse(t *testing.T) {
	m := newMachine(t)
	f, other := m.file(), m.file()
	m.load(f, -1, "")
	m.save(f, 1, 2)
	if err := os.Rename(m.path, m.path+".old"); err != nil {
		t.Fatal(err)
	}
	m.load(other, -1, "")
	m.save(other, 7)
	m.refused(f.Save(content{3, "orders"}), false, "it is in use by this process")
	_ = other.Close()
	m.put([]byte("precious"))
	m.refused(f.Save(content{3, "orders"}), true, "it is not a state file")
	if err := os.Rename(m.path+".old", m.path); err != nil {
		t.Fatal(err)
	}
	m.save(f, 4)
	_ = f.Close()
	m.load(m.file(), 4, "")
}

// TestFile_DiskFails: a disk that is full or fails is an error that names the file and is not
// final. The next Save that succeeds stores its content. After a crash before that, Load finds the
// content that was not saved, the one before, or a reason not to use the file.
func TestFile_DiskFails(t *testing.T) {
	full := &os.PathError{Op: "write", Err: syscall.ENOSPC}
	for name, test := range map[string]struct {
		write, sync error
		torn        int
		says        string
		crashed     int64
		reason      string
	}{
		"full":        {full, nil, 0, "cannot be written: the disk is full", 2, ""},
		"torn":        {errDisk, nil, 100, "cannot be written: input/output error", -1, "it is damaged"},
		"not written": {errDisk, nil, 0, "cannot be written: input/output error", 2, ""},
		"written":     {errDisk, nil, recordSize, "cannot be written: input/output error", 3, ""},
		"not synced":  {nil, errDisk, 0, "cannot be written: input/output error", 3, ""},
	} {
		for _, crash := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, crash %t", name, crash), func(t *testing.T) {
				m := newMachine(t)
				fails := func() { m.write, m.sync, m.torn = test.write, test.sync, test.torn }
				works := func() { m.write, m.sync = nil, nil }
				f := m.file()
				fails()
				_, err := f.Load(&content{})
				m.refused(err, false, test.says)
				works()
				m.load(f, -1, "")
				m.save(f, 1, 2)
				fails()
				for range 3 {
					m.refused(f.Save(content{3, "orders"}), false, test.says)
				}
				works()
				want, reason := test.crashed, test.reason
				if !crash {
					m.save(f, 4)
					want, reason = 4, ""
				}
				_ = f.Close()
				m.load(m.file(), want, reason)
			})
		}
	}
}

// TestFile_Large: content of MaxContent bytes is stored, and content for which a record has no room
// is an error that leaves both records as they are.
func TestFile_Large(t *testing.T) {
	m := newMachine(t)
	f := m.file()
	if _, err := f.Load(new(string)); err != nil {
		t.Fatal(err)
	}
	most := strings.Repeat("m", statefile.MaxContent-2)
	if err := errors.Join(f.Save(most), f.Save(most)); err != nil {
		t.Fatal(err)
	}
	m.refused(f.Save(strings.Repeat("m", recordSize)), false, "at most 65536 are possible")
	_ = f.Close()
	var got string
	if why, err := f.Load(&got); why != "" || err != nil || got != most {
		safetytest.Unless(t, err).Errorf("%d bytes, %q, %v", len(got), why, err)
	}
	_ = f.Close()
}
