package segment

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Format is how numbers of a tag are written, and read again. Make it with [ParseFormat]. It is
// safe for concurrent use.
type Format struct {
	text                    string
	before, between, behind string // what stands as it is: before date and number, and behind
	date                    string // the date's layout; "": there is none
	period                  Period // that the date tells
	width, radix            int64  // width 0: as many digits as the number has
	check                   func(text string) string
	read                    *regexp.Regexp // finds date and number
}

const (
	// digits of all radixes are in the order of ASCII, so that padded numbers sort as they count.
	digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	// formatAllowed is what ParseFormat takes, for its errors.
	formatAllowed = "a format is up to 128 printable characters: a text, a date as {YYYY-MM-DD}, " +
		"{YYYYMM} or {YY}, a text, {n}, {n:WIDTH} or {n:WIDTH:RADIX}, a text, {luhn} or {97}, in this " +
		"order, and each but {n} as needed; for example {YYYY-MM}-{n:6} or INV{n:8}{97}; a day needs " +
		"a month, and that a year; a radix is 10, 36 or 62; {luhn} needs 10, and {97} needs 10 or 36"
)

var formatText = regexp.MustCompile(`^([^{}]*)(?:\{((?:YYYY|YY|MM|DD|[-./])+)\}([^{}]*))?` +
	`\{n(?::([0-9]{0,2}))?(?::(10|36|62))?\}([^{}]*)(?:\{(luhn|97)\})?$`)

// ParseFormat reads a format such as {YYYY-MM}-{n:6}, which writes number 42 of November 2026 as
// 2026-11-000042. Its pieces are, in this order and each but {n} as needed: a text; the date of the
// group, of YYYY or YY, MM, DD and the separators - . and /; a text; the number as {n}, {n:WIDTH},
// padded with zeros to so many digits, or {n:WIDTH:RADIX}, with upper-case letters in radix 36 and
// lower-case ones beside them in radix 62; a text; check digits.
//
// Check digits are computed from everything before them: {luhn} is one, from the digits (ISO/IEC
// 7812-1, annex B; radix 10 alone), and {97} is two, from digits and letters (ISO 7064, MOD 97-10,
// as in an IBAN; radix 10 and 36).
//
// Errors wrap [ErrInvalidConfig].
func ParseFormat(text string) (Format, error) {
	m := formatText.FindStringSubmatch(text)
	printable := !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
	if m == nil || !printable || !utf8.ValidString(text) || utf8.RuneCountInString(text) > MaxTag {
		return Format{}, invalid("format %.200q; %s", text, formatAllowed)
	}
	f := Format{text: text, before: m[1], between: m[3], radix: 10, behind: m[6]}
	f.date = strings.NewReplacer("YYYY", "2006", "YY", "06", "MM", "01", "DD", "02").Replace(m[2])
	switch {
	case strings.Contains(m[2], "DD"):
		f.period = Daily
	case strings.Contains(m[2], "MM"):
		f.period = Monthly
	case m[2] != "":
		f.period = Yearly
	}
	f.width, _ = strconv.ParseInt(m[4], 10, 64)
	if m[5] != "" {
		f.radix, _ = strconv.ParseInt(m[5], 10, 64)
	}
	most := int64(62)
	switch f.check = func(string) string { return "" }; m[7] {
	case "luhn":
		f.check, most = luhn, 10
	case "97":
		f.check, most = mod97, 36
	}
	q := regexp.QuoteMeta
	f.read = regexp.MustCompile(fmt.Sprintf("^%s(.{%d})%s(.+)%s.{%d}$",
		q(f.before), len(f.date), q(f.between), q(f.behind), len(f.check(""))))
	example := f.period.first(time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC))
	if _, err := f.Text(example, 1); err != nil || f.radix > most {
		return Format{}, invalid("format %q; %s", text, formatAllowed)
	}
	return f, nil
}

// String returns the text from which the format was made.
func (f Format) String() string { return f.text }

// Period is how long the groups last whose dates the format writes; Always if it has no date.
func (f Format) Period() Period { return f.period }

// Text writes number n of the group that begins on a day, as [Groups.Next] returns them; the day is
// the zero time if the format has no date. Nothing is cut: a number with more digits than there is
// room for is an error that wraps [ErrExhausted], and one below 0 or a day that the date does not
// tell is one that wraps [ErrInvalidConfig].
func (f Format) Text(day time.Time, n int64) (string, error) {
	if f.text == "" {
		return "", invalid("the format is empty; make it with ParseFormat")
	}
	date, number := day.Format(f.date), ""
	for left := n; left > 0 || len(number) < max(int(f.width), 1); left /= f.radix {
		number = string(digits[max(left, 0)%f.radix]) + number
	}
	if told, err := f.day(date); err != nil || !told.Equal(day) || day.IsZero() != (f.date == "") {
		return "", invalid("format %q does not tell the group of %s", f.text, day.Format(time.DateOnly))
	}
	if n < 0 {
		return "", invalid("number %d is below 0", n)
	}
	if f.width > 0 && len(number) > int(f.width) {
		return "", fmt.Errorf("%w: number %d does not fit into format %q; write it with more digits",
			ErrExhausted, n, f.text)
	}
	text := f.before + date + f.between + number + f.behind
	return text + f.check(text), nil
}

// Parse reads what Text wrote, and nothing else: no number without its zeros, no wrong check digit.
// Errors wrap [ErrInvalidConfig].
func (f Format) Parse(text string) (day time.Time, n int64, err error) {
	if f.text == "" {
		_, err := f.Text(day, 0)
		return day, 0, err
	}
	if m := f.read.FindStringSubmatch(text); m != nil {
		day, err = f.day(m[1])
		for _, c := range []byte(m[2]) {
			// What is no digit, or too much, makes a number with another text.
			n = n*f.radix + int64(strings.IndexByte(digits, c))
		}
		again, _ := f.Text(day, n)
		body := text[:len(text)-len(f.check(""))]
		switch {
		case err == nil && again == text:
			return day, n, nil
		case err == nil && strings.HasPrefix(again, body):
			return time.Time{}, 0, invalid("%.200q is mistyped: the check digits of %q are %q",
				text, body, again[len(body):])
		}
	}
	return time.Time{}, 0, invalid("%.200q is not written as format %q says", text, f.text)
}

// day reads the date of a group; the zero time if the format has none. Years of two digits are
// those from 2000 to 2099.
func (f Format) day(date string) (time.Time, error) {
	if f.date == "" {
		return time.Time{}, nil
	}
	day, err := time.Parse(f.date, date)
	if !strings.Contains(f.date, "2006") && day.Year() < 2000 { //mutant:format-century
		day = day.AddDate(100, 0, 0)
	}
	return day, err
}

// Most is the largest number that Text writes.
func (f Format) Most() int64 {
	most := int64(0)
	for range f.width {
		if most > (math.MaxInt64-f.radix)/f.radix {
			return math.MaxInt64
		}
		most = most*f.radix + f.radix - 1
	}
	return cmp.Or(most, math.MaxInt64)
}

// Overlaps reports whether two formats may write the same text. It takes check digits and dates for
// any digits, so that it may also be true of formats that never do.
func (f Format) Overlaps(other Format) bool {
	for width := range longest {
		for theirs := range longest {
			a, b := f.shape(width+1), other.shape(theirs+1)
			if len(a) > 0 && slices.EqualFunc(a, b, strings.ContainsAny) {
				return true
			}
		}
	}
	return false
}

// longest is how many digits a number has at most.
const longest = 19

// shape returns the characters that can stand at each place of a text whose number has so many
// digits, before it is padded; nil: there is no such text.
func (f Format) shape(width int) []string {
	first := digits[1:f.radix]
	switch {
	case f.width > 0 && width > 1:
		return nil
	case f.width > 0 || width == 1:
		width, first = max(int(f.width), 1), digits[:f.radix]
	}
	date := strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return '\n' // which no text has
		}
		return r
	}, f.date)
	number, check := "\r"+strings.Repeat("\t", width-1), strings.Repeat("\n", len(f.check("")))
	var places []string
	for _, r := range f.before + date + f.between + number + f.behind + check {
		switch r {
		case '\r':
			places = append(places, first)
		case '\t':
			places = append(places, digits[:f.radix])
		case '\n':
			places = append(places, digits[:10])
		default:
			places = append(places, string(r))
		}
	}
	return places
}

// luhn is the check digit of the decimal digits of a text (ISO/IEC 7812-1, annex B): from the
// right, every other digit counts twice, of which the digits are added, and the check digit makes
// the sum one of tens.
func luhn(text string) string {
	sum, times := 0, 2
	for i := len(text) - 1; i >= 0; i-- {
		if d := strings.IndexByte(digits[:10], text[i]); d >= 0 {
			sum += d*times/10 + d*times%10
			times = 3 - times
		}
	}
	return strconv.Itoa((10 - sum%10) % 10)
}

// mod97 is the check digits of the digits and letters of a text (ISO 7064, MOD 97-10): A counts as
// 10 and Z as 35, and the whole, with the check digits behind it, is 1 modulo 97.
func mod97(text string) string {
	r := 0
	for _, c := range []byte(strings.ToUpper(text)) {
		switch d := strings.IndexByte(digits[:36], c); {
		case d >= 10:
			r = (r*100 + d) % 97
		case d >= 0:
			r = (r*10 + d) % 97
		}
	}
	return fmt.Sprintf("%02d", 98-r*100%97)
}

// fill writes numbers and the days of their groups, until there is an error.
func (f Format) fill(dst []string, next func() (time.Time, int64, error)) (int, error) {
	for i := range dst {
		day, n, err := next()
		if err == nil {
			dst[i], err = f.Text(day, n)
		}
		if err != nil {
			return i, err
		}
	}
	return len(dst), nil
}
