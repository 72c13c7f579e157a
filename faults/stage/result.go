package stage

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// Result is what a run of a scenario on a back end has shown. One result is one line of JSON in
// the file of results.
type Result struct {
	Scenario     string        `json:"scenario"`
	Backend      string        `json:"backend"`
	Short        bool          `json:"short,omitempty"`
	Began        time.Time     `json:"began"`
	IDs          uint64        `json:"ids"`
	Duplicates   uint64        `json:"duplicates"`
	Interruption time.Duration `json:"interruption_ns"` // the longest time without an ID
	// the longest one of the run; 0: nothing had to recover
	Recovery time.Duration `json:"recovery_ns"`
	Took     time.Duration `json:"took_ns"`
	Commit   string        `json:"commit,omitempty"` // of the suite and the library
	Failures []string      `json:"failures,omitempty"`
	Skipped  string        `json:"skipped,omitempty"` // why it was not run
	Kept     string        `json:"kept,omitempty"`    // the folder with the journals of a failed run
}

// Passed reports whether the run was made and is as it must be.
func (r Result) Passed() bool { return r.Skipped == "" && len(r.Failures) == 0 }

// Outcome says in a few words how the run has ended.
func (r Result) Outcome() string {
	switch {
	case len(r.Failures) > 0:
		return "**FAILED**"
	case r.Skipped != "":
		return "not run"
	}
	return "passed"
}

// key identifies what was run.
func (r Result) key() string {
	return fmt.Sprintf("%s on %s, short %v", r.Scenario, r.Backend, r.Short)
}

// ReadResults reads a file of results. A file that does not exist has none.
func ReadResults(path string) (results []Result, err error) {
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for line := range bytes.Lines(data) {
		var r Result
		if err := json.Unmarshal(line, &r); err != nil {
			return nil, fmt.Errorf("%s: line %d is no result: %w", path, len(results)+1, err)
		}
		results = append(results, r)
	}
	return results, nil
}

// write writes a file of results anew. It is complete, or as it was.
func write(path string, results []Result) error {
	if path == "" {
		return nil
	}
	var b bytes.Buffer
	for _, r := range results {
		if err := json.NewEncoder(&b).Encode(r); err != nil {
			return err
		}
	}
	if err := os.WriteFile(path+".new", b.Bytes(), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
