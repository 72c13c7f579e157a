package config

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/segment"
)

// parseDuration reads a duration with a unit, which is positive or, if that is allowed, zero.
func parseDuration(v string, orZero bool) (time.Duration, error) {
	d, err := time.ParseDuration(v)
	// A duration of less than a nanosecond reads as 0, which means something else.
	lost := d == 0 && strings.ContainsAny(v, "123456789")
	if err == nil && !lost && (d > 0 || d == 0 && orZero) {
		return d, nil
	}
	if orZero {
		return 0, errors.New("it is 0s or a positive duration with a unit, for example 5ms")
	}
	return 0, errors.New("it is a positive duration with a unit, for example 15s or " +
		"500ms; leave the key out for the default")
}

// durations returns parseDuration for durations of one kind.
func durations(orZero bool) func(string) (time.Duration, error) {
	return func(v string) (time.Duration, error) { return parseDuration(v, orZero) }
}

// parseTolerance reads a duration. It returns -1 for none, as [core.Config] has it: there, 0 is the
// default.
func parseTolerance(v string) (time.Duration, error) {
	d, err := parseDuration(v, true)
	if d == 0 {
		d = -1
	}
	return d, err
}

func showDuration(d time.Duration) string {
	switch {
	case d == 0:
		return ""
	case d < 0:
		return "0s"
	}
	return d.String()
}

// parseNumber reads a whole number in plain digits.
func parseNumber(v string, least int) (int, error) {
	n, err := strconv.Atoi(v)
	if err != nil || n < least || strconv.Itoa(n) != v {
		return 0, fmt.Errorf("it is a whole number from %d on, in plain digits, and at most %d", least,
			math.MaxInt)
	}
	return n, nil
}

// numbers returns parseNumber for numbers from least on.
func numbers(least int) func(string) (int, error) {
	return func(v string) (int, error) { return parseNumber(v, least) }
}

// show prints a value; "" if it is the zero one.
func show[T comparable](v T) string {
	if v == *new(T) {
		return ""
	}
	return fmt.Sprint(v)
}

// parseIdentity reads an identity.
func parseIdentity(v string) (string, error) {
	// Nothing but the identity is set, so nothing but it can be refused.
	_, err := coord.LeaseRules{}.Resolve(coord.LeaseConfig{Identity: v})
	return v, err
}

// parseRange reads what [coord.Range.String] prints: 0-511, or 512- for all from 512
// on.
func parseRange(v string) (coord.Range, error) {
	first, last, ok := strings.Cut(v, "-")
	from, err1 := parseNumber(first, 0)
	to, err2 := math.MaxInt, error(nil)
	if last != "" {
		to, err2 = parseNumber(last, 0)
	}
	if !ok || err1 != nil || err2 != nil || to < from || last != "" && to-from == math.MaxInt {
		return coord.Range{}, errors.New(
			"it is the first and the last worker ID, for example 0-511, or 512- for all from 512 on")
	}
	r := coord.Range{First: from}
	if last != "" {
		r.Count = to - from + 1
	}
	return r, nil
}

// parseTags reads tags with commas between them.
func parseTags(v string) ([]string, error) {
	var tags []string
	for tag := range strings.SplitSeq(v, ",") {
		tag = strings.Trim(tag, " ")
		switch {
		case segment.CheckTag(tag) != nil:
			return nil, fmt.Errorf("it is tags with commas between them, for example orders,invoices; each "+
				"has 1 to %d characters of printable UTF-8", segment.MaxTag)
		case slices.Contains(tags, tag):
			return nil, errors.New("a tag stands in it twice; name each once")
		}
		tags = append(tags, tag)
	}
	return tags, nil
}

// quote prints a value for an error, unless it looks as if it contained a password.
func quote(v string) string {
	if strings.Contains(v, "@") || strings.Contains(v, "://") {
		return "not shown, as it may contain a password"
	}
	return fmt.Sprintf("%.80q", v)
}
