package core

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"
)

// testLayout returns a valid layout with the given widths, 1 ms and the default
// epoch.
func testLayout(timeBits, workerBits, sequenceBits uint8) Layout {
	l := DefaultLayout()
	l.TimeBits, l.WorkerBits, l.SequenceBits = timeBits, workerBits, sequenceBits
	return l
}

func TestNamedLayouts(t *testing.T) {
	for _, tt := range []struct {
		name, text, expires string
		layout              Layout
		workers, sequences  int
		maxID               ID
	}{
		{
			"default", "41/10/12/1ms/2024-01-01T00:00:00Z", "2093-09-06T15:47:35.552Z", DefaultLayout(),
			1024, 4096, math.MaxInt64,
		},
		{
			"twitter", "41/10/12/1ms/2010-11-04T01:42:54.657Z", "2080-07-10T17:30:30.209Z", TwitterLayout(),
			1024, 4096, math.MaxInt64,
		},
		{
			"javascript", "41/5/7/1ms/2024-01-01T00:00:00Z", "2093-09-06T15:47:35.552Z", JavaScriptLayout(),
			32, 128, 1<<53 - 1,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := tt.layout
			if err := l.Validate(); err != nil {
				t.Fatal(err)
			}
			if got := l.String(); got != tt.text {
				t.Errorf("String() = %q, want %q", got, tt.text)
			}
			for _, s := range []string{tt.name, tt.text} {
				if got, err := ParseLayout(s); err != nil || got != l {
					t.Errorf("ParseLayout(%q) = %v, %v; want %v", s, got, err, l)
				}
			}
			if got := l.Expires().Format(time.RFC3339Nano); got != tt.expires {
				t.Errorf("Expires() = %s, want %s", got, tt.expires)
			}
			if l.Workers() != tt.workers || l.SequencesPerTick() != tt.sequences {
				t.Errorf("%d workers, %d sequences; want %d and %d", l.Workers(), l.SequencesPerTick(),
					tt.workers, tt.sequences)
			}
			if l.MaxID() != tt.maxID {
				t.Errorf("MaxID() = %d, want %d", l.MaxID(), tt.maxID)
			}
		})
	}
}

func TestLayoutValidate(t *testing.T) {
	of := testLayout
	at := func(epoch time.Time) Layout {
		l := DefaultLayout()
		l.Epoch = epoch
		return l
	}
	unit := func(d time.Duration) Layout {
		l := DefaultLayout()
		l.Unit = d
		return l
	}
	year := func(y int, m time.Month) time.Time { return time.Date(y, m, 1, 0, 0, 0, 0, time.UTC) }
	for _, tt := range []struct {
		name   string
		layout Layout
		want   string // part of the error; empty: valid
	}{
		{"zero", Layout{}, "Epoch is not set"},
		{"epoch at 1970", at(time.Unix(0, 0)), ""},
		{"epoch before 1970", at(time.Unix(-1, 0)), "Epoch is 1969-12-31T23:59:59Z; it must lie between"},
		{"epoch after 9999", at(year(10000, 1)), "the end of the year 9999"},
		{
			"epoch in seconds", at(time.UnixMilli(1704067200)), "Epoch is 1970-01-20T17:21:07.200Z, " +
				"which looks like seconds instead of milliseconds: 1704067200 s after 1970 is " +
				"2024-01-01T00:00:00Z",
		},
		{"epoch just after 1970", at(time.UnixMilli(1)), "looks like seconds"},
		{"epoch in March 1970", at(year(1970, 3)), ""},
		{
			"epoch in microseconds", at(year(2024, 1).Add(time.Microsecond)),
			"Epoch is 2024-01-01T00:00:00.000001000Z; it must be a whole number of milliseconds",
		},
		{"epoch in another zone", at(year(2024, 1).In(time.FixedZone("", 3600))), ""},
		{"unit 0", unit(0), "Unit is 0s; it must be at least 1ms"},
		{"unit negative", unit(-time.Second), "Unit is -1s; it must be at least 1ms"},
		{
			"unit too fine", unit(1500 * time.Microsecond),
			"Unit is 1.5ms; it must be a whole number of milliseconds",
		},
		{"unit longest", unit(math.MaxInt64 / time.Millisecond * time.Millisecond), ""},
		{"no time bits", of(0, 10, 12), "TimeBits is 0; it must be at least 1"},
		{"32 worker bits", of(10, 32, 1), "WorkerBits is 32; 0 to 31 are allowed"},
		{"no sequence bits", of(41, 10, 0), "SequenceBits is 0; 1 to 31 are allowed"},
		{"32 sequence bits", of(10, 0, 32), "SequenceBits is 32; 1 to 31 are allowed"},
		{
			"64 bits", of(42, 10, 12),
			"TimeBits 42, WorkerBits 10 and SequenceBits 12 are 64 bits together; at most 63 are allowed",
		},
		{"narrow", of(1, 0, 1), ""},
	} {
		t.Run(tt.name, func(t *testing.T) { checkLayoutError(t, tt.layout.Validate(), tt.want) })
	}
}

// checkLayoutError checks that err is nil if want is empty, and otherwise that it
// is an invalid layout and contains want.
func checkLayoutError(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("error %v, want none", err)
	case want != "" && (!errors.Is(err, ErrInvalidLayout) || !strings.Contains(err.Error(), want)):
		t.Errorf("error %v\nwant ErrInvalidLayout with %q", err, want)
	}
}

func TestParseLayoutErrors(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"", `"" is neither a name (default, twitter, javascript) nor of the form ` +
			`time/worker/sequence bits/unit/epoch`},
		{"Twitter", "neither a name"},
		{"41/10/12/1ms", "neither a name"},
		{"-1/10/12/1ms/2024-01-01T00:00:00Z", `the time bits in "-1/10/12/1ms/2024-01-01T00:00:00Z" ` +
			`are "-1"; they are a number from 0 to 63`},
		{"41/x/12/1ms/2024-01-01T00:00:00Z", `the worker bits in`},
		{"41/10/64/1ms/2024-01-01T00:00:00Z", `the sequence bits in ` +
			`"41/10/64/1ms/2024-01-01T00:00:00Z" are "64"`},
		{"41/10/300/1ms/2024-01-01T00:00:00Z", `are "300"`},
		{"41/10/12/1/2024-01-01T00:00:00Z", `is "1"; it is a duration of whole milliseconds`},
		{"41/10/12/NaNs/2024-01-01T00:00:00Z", `is "NaNs"`},
		{"41/10/12/9999999h/2024-01-01T00:00:00Z", `is "9999999h"`},
		{"41/10/12/1ms/2024-01-01", `is "2024-01-01"; it is a moment in UTC`},
		{"41/10/12/1ms/1704067200000", `is "1704067200000"`},
		{"41/10/12/1ms/2024-01-01T00:00:00Z/", `is "2024-01-01T00:00:00Z/"`},
		{"041/10/12/1ms/2024-01-01T00:00:00Z", `has the value of "41/10/12/1ms/2024-01-01T00:00:00Z"; ` +
			`write it in that form`},
		{"41/10/12/1000us/2024-01-01T00:00:00Z", `has the value of "41/10/12/1ms/2024-01-01T00:00:00Z"`},
		{"41/10/12/60s/2024-01-01T00:00:00Z", `has the value of "41/10/12/1m0s/2024-01-01T00:00:00Z"`},
		{"41/10/12/1ms/2024-01-01T00:00:00.000Z", `has the value of "41/10/12/1ms/2024-01-01T00:00:00Z"`},
		{
			"41/10/12/1ms/2024-01-01T01:00:00+01:00",
			`has the value of "41/10/12/1ms/2024-01-01T00:00:00Z"`,
		},
		{"41/10/12/1ms/1970-01-20T17:21:07.200Z", "looks like seconds"},
		{"41/10/13/1ms/2024-01-01T00:00:00Z", "64 bits together"},
		{"0/10/12/1ms/2024-01-01T00:00:00Z", "TimeBits is 0"},
		{"41/10/12/1.5ms/2024-01-01T00:00:00Z", "Unit is 1.5ms"},
	} {
		t.Run(tt.text, func(t *testing.T) {
			l, err := ParseLayout(tt.text)
			checkLayoutError(t, err, tt.want)
			if l != (Layout{}) {
				t.Errorf("layout %v beside the error", l)
			}
		})
	}
}

func TestLayoutString(t *testing.T) {
	inZone := DefaultLayout()
	inZone.Epoch = inZone.Epoch.In(time.FixedZone("", -7200))
	for want, l := range map[string]Layout{
		DefaultLayout().String():        inZone,
		"0/0/0/0s/0001-01-01T00:00:00Z": {}, // errors print layouts that are not valid
	} {
		if got := l.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestLayoutText(t *testing.T) {
	l := TwitterLayout()
	if err := l.UnmarshalText([]byte("41/10")); !errors.Is(err, ErrInvalidLayout) ||
		l != TwitterLayout() {
		t.Errorf("after an error the layout is %v, error %v", l, err)
	}
	if _, err := (Layout{}).MarshalText(); !errors.Is(err, ErrInvalidLayout) {
		t.Errorf("a zero layout was marshalled: %v", err)
	}
}

func TestLayoutExpiresSaturates(t *testing.T) {
	last := time.UnixMicro(math.MaxInt64).UTC()
	wide, hours := testLayout(62, 0, 1), testLayout(62, 0, 1)
	hours.Unit = time.Hour
	for _, l := range []Layout{wide, hours} {
		// A tick that no clock can read has a time nevertheless.
		if end, p := l.Expires(), l.Decompose(l.MaxID()); !end.Equal(last) || !p.Time.Equal(last) ||
			p.Sequence != 1 {
			t.Errorf("%v expires %v, and its last ID is %v; want %v", l, end, p, last)
		}
	}
	for _, l := range []Layout{{}, testLayout(255, 0, 0), testLayout(63, 0, 0)} {
		l.Expires() // not valid, but no reason to crash
		l.MaxID()
	}
}

func TestLayoutCheckEpoch(t *testing.T) {
	l := DefaultLayout()
	if err := l.checkEpoch(l.Epoch); err != nil {
		t.Error(err)
	}
	checkLayoutError(t, l.checkEpoch(l.Epoch.Add(-time.Millisecond)),
		"Epoch is 2024-01-01T00:00:00Z, "+
			"but the clock says 2023-12-31T23:59:59.999Z; choose an epoch in the past, or set the clock")
}
