package main

import (
	"fmt"
	"testing"
	"time"

	"github.com/unalike-id/unalike/core"
)

// FuzzReadID: an ID whose format is recognized is the one that this format, asked for by
// name, gives; and what is read is written again in that format.
func FuzzReadID(f *testing.F) {
	for _, s := range []string{
		"", "0", "00", "-1", "1541815603606036480", "9223372036854775808", "1ptWyK4WgZU", "1ASD13XH1F800",
		"7zzzzzzzzzzzz", "00000000001", "0000000000001",
		`"7"`, `{"id":"7"}`, `{"id":7}`, `{"id":9007199254740993}`, `{"id":null}`, `{"id":["7"]}`, `{}`,
		`{"id":"7"`, "1e3", " 7",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		id, err := readID(s, formatAuto)
		if err != nil {
			if len(err.Error()) > 500 {
				t.Errorf("%q: %v", s, err)
			}
			return
		}
		formatsOfIt := 0
		for format, write := range map[string]func(core.ID) string{
			formatDecimal: core.ID.String,
			formatBase62:  core.ID.Base62, formatBase32: core.ID.Base32,
		} {
			named, err := readID(s, format)
			if err == nil && write(named) != s {
				t.Errorf("%q is read as %d in %s, which is written %q", s, named, format, write(named))
			}
			if err == nil && named == id {
				formatsOfIt++
			}
		}
		if named, err := readID(s, formatJSON); err == nil && named == id {
			formatsOfIt++
		}
		if id < 0 || formatsOfIt == 0 {
			t.Errorf("%q is recognized as %d, and in no format it is", s, id)
		}
	})
}

// FuzzFlags: what a flag takes can be shown in a form that means the same.
func FuzzFlags(f *testing.F) {
	for _, s := range []string{
		"", "0", "7", "-1", "+5", "007", "1e3", "10", "90s", "1h30m", "-5s",
		"NaN", "2026-05-17T09:30:00Z", "2026-05-17T11:30:00.5+02:00", "1969-12-31T23:59:59Z", "twitter",
		"41/10/12/1ms/2024-01-01T00:00:00Z", "0s",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		again(t, s, parseCount)
		again(t, s, parseMemory)
		again(t, s, parseSpan)
		again(t, s, parseInterval)
		again(t, s, core.ParseLayout)
		again(t, s, parseTime)
		if n, err := workerValue(s); err == nil && (n < 0 || core.ID(n).String() != s) {
			t.Errorf("worker ID %q is read as %d", s, n)
		}
	})
}

// again parses what parse makes of a text, as it is shown.
func again[T any](t *testing.T, s string, parse func(string) (T, error)) {
	t.Helper()
	v, err := parse(s)
	if err != nil {
		return
	}
	shown := fmt.Sprint(v)
	if moment, ok := any(v).(time.Time); ok {
		shown = moment.Format(time.RFC3339Nano)
	}
	if twice, err := parse(shown); err != nil || fmt.Sprint(twice) != fmt.Sprint(v) {
		t.Errorf("%T of %q is %s, and then %v, %v", v, s, shown, twice, err)
	}
}
