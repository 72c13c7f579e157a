package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/core"
)

func TestGenerateFormats(t *testing.T) {
	for _, tt := range []struct {
		format string
		parse  func(string) (core.ID, error)
	}{
		{formatDecimal, core.ParseID},
		{formatBase62, core.ParseBase62},
		{formatBase32, core.ParseBase32},
		{formatJSON, func(s string) (core.ID, error) {
			var o map[string]core.ID
			err := json.Unmarshal([]byte(s), &o)
			return o["id"], err
		}},
	} {
		t.Run(tt.format, func(t *testing.T) {
			got := call(t, nil, "", "generate", "-n", "5000", "--format", tt.format, "--coordinator", noState(t, "9"))
			lines := strings.Split(strings.TrimSuffix(got.out, "\n"), "\n")
			if got.code != exitOK || len(lines) != 5000 {
				t.Fatalf("exit code %d, %d lines, stderr %q", got.code, len(lines), got.stderr)
			}
			last := core.ID(-1)
			for _, line := range lines {
				id, err := tt.parse(line)
				if err != nil || id <= last {
					t.Fatalf("%q after %d: %v", line, last, err)
				}
				if w := core.DefaultLayout().Decompose(id).WorkerID; w != 9 {
					t.Fatalf("worker ID %d, want 9", w)
				}
				last = id
			}
		})
	}
}

func TestGenerateExplain(t *testing.T) {
	before := time.Now().Truncate(time.Millisecond)
	got := call(t, nil, "", "generate", "--explain", "--layout", "javascript", "--coordinator", noState(t, "31"))
	f := strings.Fields(got.out)
	if got.code != exitOK || len(f) != 6 || f[2] != "worker" || f[3] != "31" || f[4] != "sequence" {
		t.Fatalf("%+v", got)
	}
	at, err := time.Parse(time.RFC3339, f[1])
	if err != nil || at.Before(before) || at.After(time.Now()) {
		t.Errorf("time %v, %v", at, err)
	}
	if id, err := core.ParseID(f[0]); err != nil || id > core.JavaScriptLayout().MaxID() {
		t.Errorf("ID %d, %v", id, err)
	}

	got = call(t, nil, "", "generate", "--explain", "--format", "json", "--coordinator", noState(t, "3")+"-json")
	var o struct {
		ID       core.ID   `json:"id"`
		Time     time.Time `json:"time"`
		WorkerID int       `json:"worker_id"`
		Sequence *int      `json:"sequence"`
	}
	if err := json.Unmarshal([]byte(got.out), &o); err != nil || o.Sequence == nil {
		t.Fatalf("%+v, %v", got, err)
	}
	want := core.DefaultLayout().Decompose(o.ID)
	if (core.Parts{Time: o.Time, WorkerID: o.WorkerID, Sequence: *o.Sequence}) != want || want.WorkerID != 3 {
		t.Errorf("%+v, want %+v", o, want)
	}
}

// TestGenerateFailures are failures that are no mistake on the command line.
func TestGenerateFailures(t *testing.T) {
	got := call(t, nil, "", "generate", "--coordinator", noState(t, "1024"))
	if got.code != exitFailure || got.out != "" || !strings.Contains(got.stderr, "static worker ID 1024; the layout has worker IDs 0 to 1023") {
		t.Errorf("%+v", got)
	}
	got = call(t, nil, "", "generate", "--config", settingsFile(t, "layout: 41/10/12/1ms/2999-01-01T00:00:00Z\n"), "--coordinator", noState(t, "1"))
	if got.code != exitFailure || got.out != "" || !strings.Contains(got.stderr, "its epoch is in the future, for the clock says 20") {
		t.Errorf("%+v", got)
	}
}

// halting is a source that gives a few IDs and then fails.
type halting struct {
	left int
	err  error
}

func (h *halting) Fill(_ context.Context, dst []core.ID) (int, error) {
	for i := range dst {
		if h.left == 0 {
			return i, h.err
		}
		h.left--
		dst[i] = core.ID(1_000_000 - h.left)
	}
	return len(dst), nil
}

// TestWriteIDsKeepsWhatWasMade holds that IDs which were taken are printed when a
// later one fails.
func TestWriteIDsKeepsWhatWasMade(t *testing.T) {
	var out strings.Builder
	a := &app{streams: streams{out: &out, err: io.Discard}}
	err := a.writeIDs(t.Context(), &halting{left: batchSize + 3, err: core.ErrWindowEnded}, printer{format: formatDecimal}, 10*batchSize)
	if !errors.Is(err, core.ErrWindowEnded) || !strings.Contains(err.Error(), "after 4099 of 40960 IDs: ") {
		t.Errorf("error %v", err)
	}
	if n := strings.Count(out.String(), "\n"); n != batchSize+3 {
		t.Errorf("%d lines, want %d", n, batchSize+3)
	}
}

// full is an output that takes nothing.
type full struct{ err error }

func (f full) Write([]byte) (int, error) { return 0, f.err }

func TestWriteErrors(t *testing.T) {
	for _, tt := range []struct {
		err  error
		code int
		want string
	}{
		{errors.New("disk full"), exitFailure, "disk full\n"},
		{brokenPipe, exitOK, ""},
	} {
		for _, args := range [][]string{
			{"generate", "--coordinator", noState(t, "5")},
			{"decode", "1"},
			{"layout"},
			{"version"},
		} {
			var stderr strings.Builder
			a := &app{
				streams:   streams{in: strings.NewReader(""), out: full{tt.err}, err: &stderr},
				lookupEnv: lookupIn(nil),
				waits:     waits{answer: callTime, quiet: callTime, dial: callTime},
			}
			code := a.run(t.Context(), args)
			said := stderr.String()
			if strings.Contains(said, "static worker ID without a state file") { // a line of the log
				_, said, _ = strings.Cut(said, "\n")
			}
			if code != tt.code || !strings.HasSuffix(said, tt.want) || tt.want == "" && said != "" {
				t.Errorf("%v with %v: exit code %d, stderr %q", args, tt.err, code, &stderr)
			}
		}
	}
}

func TestFormatErrors(t *testing.T) {
	for _, format := range []string{formatDecimal, formatJSON} {
		if _, err := (printer{format: format}).appendLine(nil, -1); !errors.Is(err, core.ErrInvalidID) {
			t.Errorf("%s of a negative ID: %v", format, err)
		}
	}
}
