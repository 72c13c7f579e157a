package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/safetytest"
)

func TestGenerateFormats(t *testing.T) {
	for format, parse := range map[string]func(string) (core.ID, error){
		formatDecimal: core.ParseID,
		formatBase62:  core.ParseBase62,
		formatBase32:  core.ParseBase32,
		formatJSON: func(s string) (core.ID, error) {
			var o map[string]core.ID
			err := json.Unmarshal([]byte(s), &o)
			return o["id"], err
		},
	} {
		url := noState(t, "9") + "-" + format
		got := call(t, nil, "", "generate", "-n", "5000", "--format", format, "--coordinator", url)
		lines := strings.Split(strings.TrimSuffix(got.out, "\n"), "\n")
		if got.code != exitOK || len(lines) != 5000 {
			t.Fatalf("%s: exit code %d, %d lines, stderr %q", format, got.code, len(lines), got.stderr)
		}
		last := core.ID(-1)
		for _, line := range lines {
			id, err := parse(line)
			if err != nil || id <= last || core.DefaultLayout().Decompose(id).WorkerID != 9 {
				safetytest.Unless(t, err).Fatalf("%s: %q after %d: %v", format, line, last, err)
			}
			last = id
		}
	}
}

// TestGenerate_NewFile: a file that was not there costs no wait, and no word about it.
func TestGenerate_NewFile(t *testing.T) {
	t.Parallel()
	got := call(t, nil, "", "generate", "--coordinator", "file://"+urlPath(t.TempDir())+"/ids")
	if got.code != exitOK || got.stderr != "" {
		t.Errorf("exit code %d, stderr %q", got.code, got.stderr)
	}
}

// TestGenerateFailures are failures that are no mistake on the command line.
func TestGenerateFailures(t *testing.T) {
	file := settingsFile(t, "layout: 41/10/12/1ms/2999-01-01T00:00:00Z\n")
	checkLines(t, nil, []line{
		{
			"generate --config " + file + " --coordinator " + noState(t, "1"), exitFailure,
			"its epoch is in the future, for the clock says 20",
		},
	})
}

// halting is a source that gives a few IDs and then fails.
type halting struct {
	left int
	err  error
}

func (h *halting) Fill(_ context.Context, dst []core.ID) (int, error) {
	n := min(len(dst), h.left)
	if h.left -= n; n < len(dst) {
		return n, h.err
	}
	return n, nil
}

// TestWriteIDsKeepsWhatWasMade holds that IDs which were taken are printed when a
// later one fails.
func TestWriteIDsKeepsWhatWasMade(t *testing.T) {
	var out strings.Builder
	a := &app{streams: streams{out: &out, err: io.Discard}}
	source := &halting{left: batchSize + 3, err: core.ErrWindowEnded}
	err := a.writeIDs(t.Context(), source, printer{format: formatDecimal}, 10*batchSize)
	if !errors.Is(err, core.ErrWindowEnded) ||
		!strings.Contains(err.Error(), "after 4099 of 40960 IDs: ") {
		t.Errorf("error %v", err)
	}
	if n := strings.Count(out.String(), "\n"); n != batchSize+3 {
		t.Errorf("%d lines, want %d", n, batchSize+3)
	}
}

// full is an output that takes nothing.
type full struct{ err error }

func (f full) Write([]byte) (int, error) { return 0, f.err }

// TestWriteErrors: what cannot be written is a failure; a reader that has enough is none.
func TestWriteErrors(t *testing.T) {
	for _, args := range []string{
		"generate --coordinator " + noState(t, "5"), "decode 1", "layout", "generate --help",
		"--version", "",
	} {
		for want, err := range map[int]error{exitFailure: errors.New("disk full"), exitOK: brokenPipe} {
			var stderr strings.Builder
			a := &app{
				streams:   streams{in: strings.NewReader(""), out: full{err}, err: &stderr},
				lookupEnv: lookupIn(nil),
				waits:     waits{answer: callTime, quiet: callTime, dial: callTime},
			}
			code, said := a.run(t.Context(), strings.Fields(args)), stderr.String()
			fails := want == exitFailure
			if code != want || strings.Contains(said, "unalike: ") != fails ||
				strings.HasSuffix(said, "disk full\n") != fails {
				t.Errorf("%s with %v: exit code %d, stderr %q", args, err, code, said)
			}
		}
	}
}
