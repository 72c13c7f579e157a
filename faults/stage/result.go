package stage

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"
)

// Result is what a run of a scenario on a back end has shown. One result is one line of JSON in the file of
// results.
type Result struct {
	Number       int           `json:"number"`
	Scenario     string        `json:"scenario"`
	Backend      string        `json:"backend"`
	Short        bool          `json:"short,omitempty"`
	Began        time.Time     `json:"began"`
	IDs          uint64        `json:"ids"`
	Duplicates   uint64        `json:"duplicates"`
	Expected     bool          `json:"duplicates_expected,omitempty"`
	Interruption time.Duration `json:"interruption_ns"` // the longest time without an ID
	Recovery     time.Duration `json:"recovery_ns"`     // the longest one of the run; 0: nothing had to recover
	Took         time.Duration `json:"took_ns"`
	Failures     []string      `json:"failures,omitempty"`
	// Found are the kinds of what the verdict has found, without repetition: those of package verdict, and
	// [IllegalHistory]. A failure that none of them explains is one of the scenario's own checks.
	Found   []string `json:"found,omitempty"`
	Skipped string   `json:"skipped,omitempty"` // why it was not run
	Kept    string   `json:"kept,omitempty"`    // the folder with the journals of a failed run
}

// IllegalHistory is the kind of finding that no order of the calls at the coordinator explains their results.
const IllegalHistory = "illegal history"

// find notes that the verdict has found something.
func (r *Result) find(kind string) {
	if !slices.Contains(r.Found, kind) {
		r.Found = append(r.Found, kind)
	}
}

// Passed reports whether the run was made and is as it must be.
func (r Result) Passed() bool { return r.Skipped == "" && len(r.Failures) == 0 }

// key identifies what was run.
func (r Result) key() string {
	return fmt.Sprintf("%s on %s, short %v", r.Scenario, r.Backend, r.Short)
}

// ReadResults reads a file of results. A file that does not exist has none. A last line without an end, which a
// run leaves behind that was killed while it wrote, is left out.
func ReadResults(path string) ([]Result, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close() // it is only read
	var results []Result
	in := bufio.NewReader(f)
	for n := 1; ; n++ {
		line, err := in.ReadString('\n')
		if errors.Is(err, io.EOF) {
			return results, nil
		}
		if err != nil {
			return nil, err
		}
		if strings.TrimSpace(line) == "" {
			continue
		}
		var r Result
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			return nil, fmt.Errorf("%s: line %d is no result: %w", path, n, err)
		}
		results = append(results, r)
	}
}

// appender returns a function that appends results to the file path; with an empty path it does nothing. What a
// killed run has left of its last line is cut off. A result is on the disk when the function has returned.
func appender(path string) (func(Result) error, error) {
	if path == "" {
		return func(Result) error { return nil }, nil
	}
	data, err := os.ReadFile(path)
	if err == nil {
		err = os.Truncate(path, int64(bytes.LastIndexByte(data, '\n')+1))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return func(r Result) error {
		line, err := json.Marshal(r)
		if err != nil {
			return err
		}
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644) //nolint:gosec // for everybody to read
		if err != nil {
			return err
		}
		_, err = f.Write(append(line, '\n'))
		return errors.Join(err, f.Sync(), f.Close())
	}, nil
}
