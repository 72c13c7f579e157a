package embedded

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/filesys"
	"github.com/unalike-id/unalike/internal/invalid"
)

// What a folder holds.
const (
	nameLock = "lock"          // locked by whoever runs the server
	nameMark = "folder.json"   // a mark: what the folder is
	namePost = "endpoint.json" // a post: where the server is
	nameData = "etcd"          // etcd's own data

	// nameServed is a file among the data: they were in use, whatever the mark says.
	nameServed = nameData + "/served"

	temporary = ".tmp" // at the end of the name of a file that is being written

	// formatVersion is the version of both files.
	formatVersion = 1
	// maxFile is more than either file has.
	maxFile = 4096
)

// folder is a folder with an etcd in it.
type folder struct{ path string }

// newFolder names a folder. It does not look whether there is one, see prepare.
func newFolder(dir string) (folder, error) {
	if dir == "" {
		return folder{}, fmt.Errorf("%w folder: its name is empty; name a folder", coord.ErrInvalid)
	}
	path, err := filepath.Abs(dir)
	if err != nil {
		return folder{}, fmt.Errorf("%w folder %q: %w", coord.ErrInvalid, dir, err)
	}
	return folder{path}, nil
}

func (f folder) file(name string) string { return filepath.Join(f.path, name) }

// prepare makes the folder if there is none, and refuses one that is not ours.
func (f folder) prepare() error {
	if err := os.MkdirAll(f.path, 0o700); err != nil {
		return f.fail("make it", err)
	}
	if err := f.checkRights(runtime.GOOS); err != nil {
		return err
	}
	entries, err := os.ReadDir(f.path)
	if err != nil {
		return f.fail("read it", err)
	}
	if _, err := os.Lstat(f.file(nameMark)); err == nil {
		return nil
	}
	// Without a mark: new, or being made at this moment, by this process or another. The
	// mark is there before there are data.
	ours := []string{nameLock, nameMark, nameMark + temporary, namePost, namePost + temporary}
	for _, e := range entries {
		if !slices.Contains(ours, e.Name()) {
			return fmt.Errorf("%w folder %s: it holds %q and is not the folder of an embedded etcd (there "+
				"is no %s); name an empty folder, or one that does not exist",
				coord.ErrInvalid, f.path, e.Name(), nameMark)
		}
	}
	return nil
}

// checkRights refuses a folder that every user of the machine can write: they could put
// their own files in the place of these. Windows tells nothing about that.
func (f folder) checkRights(goos string) error {
	info, err := os.Stat(f.path)
	if err != nil {
		return f.fail("look at it", err)
	}
	if mode := info.Mode().Perm(); goos != "windows" && mode&0o002 != 0 { //mutant:embed-mode
		return fmt.Errorf("%w folder %s: its mode is %#o, so every user of this machine can change what "+
			"is in it; make that 0700, or name another folder", coord.ErrInvalid, f.path, mode)
	}
	return nil
}

// mark says what a folder is.
type mark struct {
	Version int `json:"version"`
	// Folder is the folder's random name: the token of its cluster, and what clients
	// show to its server. A folder that was deleted and made again has another one.
	Folder string `json:"folder"`
	// Served reports whether the server was ever ready. Before, the data may be half of
	// what a server needs to start, and nobody was granted anything from it. See
	// removeHalfMade.
	Served bool `json:"served"`
}

// post says where the server of a folder is.
type post struct {
	Version int    `json:"version"`
	Folder  string `json:"folder"`
	Address string `json:"address"` // host:port
	PID     int    `json:"pid"`
}

// process names the process that runs the server.
func (p post) process() string {
	if p.PID == os.Getpid() {
		return fmt.Sprintf("this process, %d", p.PID)
	}
	return fmt.Sprintf("process %d", p.PID)
}

// endpoint is the server's address in the form that a client takes.
func (p post) endpoint() string { return "http://" + p.Address }

// readMark returns what the folder is; a new mark if it has none, which prepare
// allows for a folder without data only. The caller has the lock.
func (f folder) readMark() (mark, error) {
	var m mark
	err := f.read(nameMark, &m)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return mark{Version: formatVersion, Folder: rand.Text()}, nil
	case err != nil:
		return m, f.fail("read "+nameMark, err)
	case m.Version != formatVersion || m.Folder == "":
		return m, fmt.Errorf("%w folder %s: %s has version %d, or names no folder; this program knows "+
			"version %d; use the program that wrote it",
			coord.ErrInvalid, f.path, nameMark, m.Version, formatVersion)
	}
	return m, nil
}

// readPost returns where the server is; nil: nobody says.
func (f folder) readPost() *post {
	var p post
	// A post that cannot be read is one that is not there yet: whoever has the lock
	// writes it again.
	if err := f.read(namePost, &p); err != nil || p.Version != formatVersion || p.Folder == "" ||
		p.Address == "" {
		return nil
	}
	return &p
}

// removePost takes back where the server is.
func (f folder) removePost() error {
	if err := os.Remove(f.file(namePost)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return f.fail("remove "+namePost, err)
	}
	return nil
}

// removeHalfMade removes what a first start has left that was killed; from half of its
// data no server gets ready. The mark says that no server ever was.
//
// A first start writes that mark, has etcd make the data, and once the server is ready
// writes a mark that says so, then the file nameServed, and then where the server is.
// Nobody is granted anything sooner. So where that file is, the mark was right once and
// is not now, because somebody has put an older one back.
func (f folder) removeHalfMade() error {
	switch _, err := os.Lstat(f.file(nameServed)); {
	case err == nil:
		return fmt.Errorf("%w folder %s: it holds %q, which was in use, and %s says that it never was; "+
			"put back the %s of these data, or name an empty folder, or one that does not exist",
			coord.ErrInvalid, f.path, nameData, nameMark, nameMark)
	case !errors.Is(err, fs.ErrNotExist):
		return f.fail("look for "+nameServed, err)
	}
	if err := os.RemoveAll(f.file(nameData)); err != nil {
		return f.fail("remove what a crash left", err)
	}
	return nil
}

// noteServed says among the data that they were in use, and puts that on the disk.
func (f folder) noteServed() error {
	file, err := os.OpenFile(f.file(nameServed), os.O_WRONLY|os.O_CREATE, 0o600)
	if err == nil {
		err = errors.Join(file.Close(), filesys.SyncDir(f.file(nameData)))
	}
	if err != nil {
		return f.fail("write "+nameServed, err)
	}
	return nil
}

func (f folder) read(name string, v any) error {
	file, err := os.Open(f.file(name))
	if err != nil {
		return err
	}
	defer file.Close()
	b, err := io.ReadAll(io.LimitReader(file, maxFile))
	if err != nil {
		return err
	}
	if err := decode(b, v); err != nil {
		return invalid.Errorf("%s is damaged: %w", name, err)
	}
	return nil
}

// decode reads what encode wrote, strictly: a mark of which a field is missing would say that
// the folder was never in use. Of another version it reads what it can, for an error.
func decode(b []byte, v any) error {
	var head struct {
		Version int `json:"version"`
	}
	if json.Unmarshal(b, &head) == nil && head.Version != formatVersion {
		return json.Unmarshal(b, v)
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	again, err := encode(v)
	if err == nil && !bytes.Equal(again, b) {
		err = errors.New("a field is missing, given twice, out of order, or in a form that this driver " +
			"does not write")
	}
	return err
}

// encode returns the content of a file of the folder.
func encode(v any) ([]byte, error) {
	b, err := json.Marshal(v)
	return append(b, '\n'), err
}

// write replaces a file of the folder, so that others see the old or the new one,
// whole, and puts it on the disk: a mark of before the first grant must not come back
// with a power failure. The caller has the lock.
func (f folder) write(name string, v any) error {
	b, err := encode(v)
	if err != nil {
		return err
	}
	temp := f.file(name + temporary)
	file, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return f.fail("write "+name, err)
	}
	_, err = file.Write(b)
	if err = errors.Join(err, file.Sync(), file.Close()); err == nil {
		err = os.Rename(temp, f.file(name))
	}
	if err == nil {
		err = filesys.SyncDir(f.path) //mutant:embed-sync
	}
	if err != nil {
		return f.fail("write "+name, err)
	}
	return nil
}

// fail says what to do about an error of the file system, where something can be done.
func (f folder) fail(doing string, err error) error {
	switch {
	case errors.Is(err, coord.ErrInvalid):
		return fmt.Errorf("folder %s: %s: %w", f.path, doing, err)
	case errors.Is(err, fs.ErrPermission), filesys.ReadOnly(err):
		return fmt.Errorf("%w folder %s: %s: %w; let this user read and write the folder",
			coord.ErrInvalid, f.path, doing, err)
	case filesys.NotAFolder(err):
		return fmt.Errorf("%w folder %s: %s: %w; name a folder", coord.ErrInvalid, f.path, doing, err)
	}
	return fmt.Errorf("embed: folder %s: %s: %w", f.path, doing, err)
}
