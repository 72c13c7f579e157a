package segment_test

import (
	"cmp"
	"errors"
	"fmt"
	"log"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/segment"
)

// day is a date at midnight UTC; "" is the zero time.
func day(tb testing.TB, text string) (d time.Time) {
	tb.Helper()
	if text == "" {
		return d
	}
	d, err := time.Parse(time.DateOnly, text)
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

// TestFormat writes numbers and reads them again.
func TestFormat(t *testing.T) {
	for _, c := range []struct {
		format, day string
		n           int64
		text        string
		period      segment.Period
	}{
		{"{n}", "", math.MaxInt64, "9223372036854775807", segment.Always},
		{"{n:6}", "", 42, "000042", segment.Always},
		{"{YYYY-MM}-{n:6}", "2026-11-01", 42, "2026-11-000042", segment.Monthly},
		{"{YYYYMMDD}{n:4}", "2026-11-30", 7, "202611300007", segment.Daily},
		{"{DD.MM.YYYY}/{n}", "2026-11-30", 7, "30.11.2026/7", segment.Daily},
		{"RE{YY}-{n:5}-X", "2026-01-01", 1, "RE26-00001-X", segment.Yearly},
		{"1{n}2", "", 12, "1122", segment.Always},
		{"{n::62}", "", math.MaxInt64, "AzL8n0Y58m7", segment.Always},
		{"größe {n:2}", "", 5, "größe 05", segment.Always},
		// Those of docs/segments.md.
		{"RE{YY}{n:5}{luhn}", "2026-01-01", 42, "RE26000422", segment.Yearly},
		{"INV{n:8}{97}", "", 42, "INV0000004235", segment.Always},
		{"{n:7:36}", "", 1264, "00000Z4", segment.Always},
		{"{n::62}", "", 2673, "h7", segment.Always},
		{"{n::62}", "", 14_776_335, "zzzz", segment.Always},
		// An example from the literature, and a legal entity identifier (ISO 17442), whose check
		// digits are MOD 97-10.
		{"{n}{luhn}", "", 7992739871, "79927398713", segment.Always},
		{"549300{n:12:36}{97}", "", 206757774732610143, "5493001KJTIIGC8Y1R12", segment.Always},
		{"INV{n:8}-{97}", "", 42, "INV00000042-35", segment.Always},
		{"{YYYY-MM}-{n:6}-{luhn}", "2026-11-01", 42, "2026-11-000042-2", segment.Monthly},
	} {
		f, err := segment.ParseFormat(c.format)
		if err != nil {
			t.Errorf("%s: %v", c.format, err)
			continue
		}
		text, err := f.Text(day(t, c.day), c.n)
		if text != c.text || err != nil || f.Period() != c.period || f.String() != c.format {
			t.Errorf("%+v: it is %q, %v; its period is %d", c, text, err, f.Period())
		}
		if d, n, err := f.Parse(c.text); !d.Equal(day(t, c.day)) || n != c.n || err != nil {
			t.Errorf("%s reads %q as %v, %d, %v", c.format, c.text, d, n, err)
		}
	}
}

// TestBadFormat: what is no format is refused, with what is allowed.
func TestBadFormat(t *testing.T) {
	for _, text := range []string{
		"", "orders", "{n", "{n}{n}", "{m}", "{n:6:16}", "{n:100}", "{n:-1}", "{YYYY}{n}{MM}",
		"{MM}-{n}", "{DD}{n}", "{YYYY-DD}{n}", "{-}{n}", "{n::36}{luhn}", "{n::62}{97}", "{n}{luhn}x",
		"{YYYYMMDDHH}{n}", "a\x00{n}", "a\xff{n}", strings.Repeat("a", 126) + "{n}",
	} {
		_, err := segment.ParseFormat(text)
		wantErr(t, text, err, segment.ErrInvalidConfig)
		if err == nil || !strings.Contains(err.Error(), "{n:WIDTH}") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestDoesNotFit: nothing is cut, and nothing is read that was not written so.
func TestDoesNotFit(t *testing.T) {
	f, err := segment.ParseFormat("{YYYY-MM}-{n:3}{97}")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		day string
		n   int64
		err error
	}{
		{"2026-11-01", 1000, segment.ErrExhausted},
		{"2026-11-01", -1, segment.ErrInvalidConfig},
		{"2026-11-02", 1, segment.ErrInvalidConfig},
		{"", 1, segment.ErrInvalidConfig},
	} {
		_, err := f.Text(day(t, c.day), c.n)
		wantErr(t, fmt.Sprintf("%+v", c), err, c.err)
	}
	good, err := f.Text(day(t, "2026-11-01"), 42)
	if err != nil {
		t.Fatal(err)
	}
	swapped := strings.Replace(good, "042", "402", 1)
	for _, text := range []string{
		"", good[1:], good + "0", "x" + good, "2026-13-04200", "2026-11-42",
		strings.Replace(good, "042", "043", 1), swapped,
	} {
		_, _, err := f.Parse(text)
		wantErr(t, text, err, segment.ErrInvalidConfig)
		if mistyped := strings.Contains(fmt.Sprint(err), "mistyped"); text == swapped && !mistyped {
			t.Errorf("two digits in the wrong order: %v", err)
		}
	}
	var none segment.Format
	_, err = none.Text(time.Time{}, 1)
	wantErr(t, "Text of no format", err, segment.ErrInvalidConfig)
	_, _, err = none.Parse("1")
	wantErr(t, "Parse of no format", err, segment.ErrInvalidConfig)
}

// FuzzFormat holds Text and Parse against each other: what one writes the other reads, what one
// reads the other writes, and padded texts sort as their numbers.
func FuzzFormat(f *testing.F) {
	for _, format := range []string{
		"{n}", "{YYYY-MM}-{n:6}", "INV{YY}{n:8:36}{97}", "{n:12}{luhn}",
		"{DD.MM.YYYY}/{n:11:62}x", "{n::62}",
	} {
		f.Add(format, "2026-11-000042", int64(42), int64(36), uint16(300))
	}
	f.Fuzz(func(t *testing.T, format, text string, a, b int64, days uint16) {
		w, err := segment.ParseFormat(format)
		if err != nil {
			return
		}
		if d, n, err := w.Parse(text); err == nil {
			if again, err := w.Text(d, n); again != text || err != nil {
				t.Errorf("%s reads %q as %v, %d, which is %q, %v", format, text, d, n, again, err)
			}
		}
		var first time.Time
		when := time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, int(days))
		switch w.Period() {
		case segment.Yearly:
			first = time.Date(when.Year(), 1, 1, 0, 0, 0, 0, time.UTC)
		case segment.Monthly:
			first = time.Date(when.Year(), when.Month(), 1, 0, 0, 0, 0, time.UTC)
		case segment.Daily:
			first = when
		}
		one, err1 := w.Text(first, a)
		two, err2 := w.Text(first, b)
		if err1 == nil {
			if d, n, err := w.Parse(one); !d.Equal(first) || n != a || err != nil {
				t.Errorf("%s: %v, %d is %q, which is %v, %d, %v", format, first, a, one, d, n, err)
			}
		}
		asText := strings.Compare(one, two)
		if err1 == nil && err2 == nil && len(one) == len(two) && asText != cmp.Compare(a, b) {
			t.Errorf("%s: %d is %q and %d is %q, which sort otherwise", format, a, one, b, two)
		}
	})
}

func ExampleFormat() {
	f, err := segment.ParseFormat("{YYYY-MM}-{n:6}")
	if err != nil {
		log.Fatal(err)
	}
	text, err := f.Text(time.Date(2026, time.November, 1, 0, 0, 0, 0, time.UTC), 42)
	fmt.Println(text, err)
	month, n, err := f.Parse("2026-11-000042")
	fmt.Println(month.Format(time.DateOnly), n, err)
	_, err = f.Text(month, 1_000_000)
	fmt.Println(errors.Is(err, segment.ErrExhausted))
	// Output:
	// 2026-11-000042 <nil>
	// 2026-11-01 42 <nil>
	// true
}

// TestFormat_YearsOfTwoDigits: they are those from 2000 to 2099.
func TestFormat_YearsOfTwoDigits(t *testing.T) {
	f, err := segment.ParseFormat("RE{YY}{n:5}{luhn}")
	if err != nil {
		t.Fatal(err)
	}
	for year := 1999; year <= 2100; year++ {
		first := time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)
		text, err := f.Text(first, 42)
		if told := year >= 2000 && year < 2100; told != (err == nil) {
			t.Errorf("%d: %q, %v", year, text, err)
		} else if d, n, err := f.Parse(text); told && (!d.Equal(first) || n != 42 || err != nil) {
			t.Errorf("%d: %q is read as %v, %d, %v", year, text, d, n, err)
		}
	}
}

// TestFormat_Overlaps: two formats that can write the same text are found.
func TestFormat_Overlaps(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"{YYYY}{n:6}", "{YYYYMM}{n:4}", true},
		{"{n}", "{n:6}", true},
		{"{n}", "0{n}", false}, // a number does not begin with 0
		{"{n:3}", "{n:4}", false},
		{"A{n:3}", "{n:4}", false},
		{"A{n:3}", "{n:4:36}", true},
		{"a{n:3}", "{n:4:36}", false},
		{"a{n:3}", "{n::62}", true},
		{"INV{n:8}{97}", "INV{n:10}", true},
		{"é{n}", "è{n}", false},
		{"{YYYY-MM}-{n:6}", "{YYYY-MM-DD}{n:4}", true},
		{"{YYYY-MM}-{n:6}", "{YYYY.MM}-{n:6}", false},
		{"{n:99}", "{n}", false},
	} {
		a, err1 := segment.ParseFormat(c.a)
		b, err2 := segment.ParseFormat(c.b)
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		if a.Overlaps(b) != c.want || b.Overlaps(a) != c.want || !a.Overlaps(a) {
			t.Errorf("%s and %s: %t, want %t", a, b, a.Overlaps(b), c.want)
		}
	}
}

// TestFormat_Most: it is the largest number that has a text.
func TestFormat_Most(t *testing.T) {
	for format, want := range map[string]int64{
		"{n}": math.MaxInt64, "{n:1}": 9, "{n:6}": 999_999, "{n:2:36}": 1295, "{n:18}": 1e18 - 1,
		"{n:19}": math.MaxInt64, "{n:99:62}": math.MaxInt64,
	} {
		f, err := segment.ParseFormat(format)
		if err != nil || f.Most() != want {
			t.Errorf("%s: %d, %v; want %d", format, f.Most(), err, want)
		}
	}
}
