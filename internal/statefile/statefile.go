// Package statefile stores the state of a process in files. A [File] is locked while it is in use,
// and detects copies and older versions of itself. A [Format] encodes state with a version and a
// checksum. [Check] reports paths at which there can be no state file.
package statefile

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/unalike-id/unalike/internal/filesys"
)

var (
	// ErrBlank says that nothing was ever written.
	ErrBlank = errors.New("nothing is written there")
	// ErrForeign says that what is written is not of this format.
	ErrForeign = errors.New("it is not a state file, or damaged")
	// ErrVersion says that what is written is whole, and of another version of the format.
	ErrVersion = errors.New("it is of another version")
	// errDamaged says that what is written is not what was written once.
	errDamaged = errors.New("it is damaged")
)

// Home names a machine and the run of its system. Fields are empty where the system has no name.
type Home struct {
	Machine string `json:"machine"`
	Boot    string `json:"boot"`
}

// Here returns the home of this process.
func Here() Home { return Home{filesys.MachineID(), filesys.BootID()} }

// Survives reports whether a process on this machine can go on with what its predecessor stored,
// without asking its coordinator: the address of the namespace is known, and the system can tell
// that it was not booted since.
func Survives(place string) bool { return place != "" && Here().Boot != "" }

// Format is a kind of content and its version. Its methods are safe for concurrent use.
type Format struct {
	Name    string // without spaces
	Version int
}

// Encode returns content as JSON below a line with the name, version, length and checksum. The
// checksum covers all of it.
func (f Format) Encode(content any) ([]byte, error) {
	body, err := json.Marshal(content)
	if err != nil {
		return nil, err
	}
	return seal(f.Name, "v"+strconv.Itoa(f.Version), body), nil
}

func seal(name, version string, body []byte) []byte {
	line := fmt.Sprintf("%s %s %d", name, version, len(body))
	return fmt.Appendf(nil, "%s %x\n%s\n", line, sha256.Sum256(append([]byte(line+"\n"), body...)),
		body)
}

// Decode reads what Encode has written at the beginning of b into content. The error is
// [ErrBlank], [ErrForeign] or [ErrVersion], or says what is damaged: one bit that differs is
// noticed, and so are fields that the content does not have.
func (f Format) Decode(b []byte, content any) error {
	if Blank(b) {
		return ErrBlank
	}
	line, rest, _ := bytes.Cut(b, []byte("\n"))
	fields := bytes.Split(line[:min(len(line), 200)], []byte(" "))
	if len(fields) != 4 || string(fields[0]) != f.Name {
		return f.foreign(b)
	}
	n, err := strconv.Atoi(string(fields[2]))
	if err != nil || n < 0 || n >= len(rest) {
		return fmt.Errorf("%w: its length is wrong", errDamaged)
	}
	body, version := rest[:n], string(fields[1])
	whole := bytes.HasPrefix(b, seal(f.Name, version, body))
	if version != "v"+strconv.Itoa(f.Version) &&
		(whole || fmt.Sprintf("%x", sha256.Sum256(body)) == string(fields[3])) {
		// as v1 had it
		return fmt.Errorf("%w, %.20q, and this program reads v%d", ErrVersion, version, f.Version)
	}
	if !whole {
		return fmt.Errorf("%w: its checksum is wrong", errDamaged)
	}
	return decodeStrictly(body, content)
}

// decodeStrictly decodes JSON into content, and refuses fields that content does not have.
func decodeStrictly(body []byte, content any) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(content); err != nil {
		return fmt.Errorf("%w: %w", errDamaged, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: something follows its content", errDamaged)
	}
	return nil
}

// foreign tells damage from what somebody else has written: the name is there as far as b was
// written, or but for one byte.
func (f Format) foreign(b []byte) error {
	b = bytes.TrimRight(b, "\n\x00")
	n, differ := min(len(b), len(f.Name)), 0
	for i := range n {
		if b[i] != f.Name[i] {
			differ++
		}
	}
	if differ == 0 || differ == 1 && n == len(f.Name) {
		return fmt.Errorf("%w: its heading is wrong", errDamaged)
	}
	return ErrForeign
}

// Blank reports whether nothing is written in b: line ends, with which a file is made, and zeros,
// which stand for what a file system has lost or never had.
func Blank(b []byte) bool { return len(bytes.TrimLeft(b, "\n\x00")) == 0 }
