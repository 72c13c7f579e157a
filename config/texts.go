package config

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/unalike-id/unalike/segment"
)

// Texts writes numbers of tags as their formats say. Its methods are safe for concurrent use.
type Texts struct {
	all map[string]text
}

// text is the format of a tag and the numbers that it writes.
type text struct {
	format segment.Format
	groups *segment.Groups
}

// NewTexts returns the texts of the tags in Formats, from a store that is open. It does not call
// the store. Close the texts before it. Errors wrap [segment.ErrInvalidConfig].
func (c Config) NewTexts(store segment.Store, s segment.Config) (*Texts, error) {
	t := &Texts{map[string]text{}}
	for tag, format := range c.Formats {
		g, err := segment.NewGroups(store, tag, format.Period(), c.Zone, c.Numbers(s))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", keyFormats, err)
		}
		t.all[tag] = text{format, g}
	}
	return t, nil
}

// FillText fills dst with new numbers of a tag, written in its format, those of the group that the
// clock is in. It waits until ctx ends. It returns how many it wrote; with fewer than len(dst)
// comes the error, which is [segment.ErrUnknownTag] if the tag has no format, or one of
// [segment.Groups.Next] and [segment.Format.Text]. If the format has no room for all of them it
// takes no number, and the error is [segment.ErrExhausted].
func (t *Texts) FillText(ctx context.Context, tag string, dst []string) (int, error) {
	x, err := t.text(tag)
	if err != nil {
		return 0, err
	}
	if room := x.room(); room < int64(len(dst)) { //mutant:format-room
		return 0, fmt.Errorf("%w: tag %q: format %q has room for %d more numbers, and %d are asked for; "+
			"write them with more digits", segment.ErrExhausted, tag, x.format, room, len(dst))
	}
	return x.fill(dst, func() (time.Time, int64, error) { return x.groups.Next(ctx) })
}

// FillTextOn is FillText for the numbers of the group that a day is in, see
// [segment.Groups.NextOn], whose errors it returns as well. It takes the numbers of a past group
// one by one, until the format has no room for one.
func (t *Texts) FillTextOn(ctx context.Context, tag string, day time.Time, dst []string,
) (int, error) {
	x, err := t.text(tag)
	if err != nil {
		return 0, err
	}
	return x.fill(dst, func() (time.Time, int64, error) { return x.groups.NextOn(ctx, day) })
}

// text returns the format of a tag.
func (t *Texts) text(tag string) (text, error) {
	x, ok := t.all[tag]
	if !ok {
		return x, fmt.Errorf("%w: %q has no format; name one with the key %s", segment.ErrUnknownTag, tag,
			keyFormats)
	}
	return x, nil
}

// fill writes numbers and the days of their groups.
func (x text) fill(dst []string, next func() (time.Time, int64, error)) (int, error) {
	for i := range dst {
		day, n, err := next()
		if err == nil {
			dst[i], err = x.format.Text(day, n)
		}
		if err != nil {
			return i, err
		}
	}
	return len(dst), nil
}

// room is how many more numbers of the present group the format can write.
func (x text) room() int64 { return x.groups.Room(x.format.Most()) }

// Ready waits until there are numbers of all tags that have a format, see [segment.Groups.Ready].
func (t *Texts) Ready(ctx context.Context) error {
	for _, tag := range slices.Sorted(maps.Keys(t.all)) {
		if err := t.all[tag].groups.Ready(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Close gives back what is unused, as [segment.Groups.Close] does.
func (t *Texts) Close(ctx context.Context) error {
	errs := make(chan error, len(t.all))
	for _, x := range t.all { // at the same time, as the store may not answer
		go func() { errs <- x.groups.Close(ctx) }()
	}
	var all error
	for range t.all {
		all = errors.Join(all, <-errs)
	}
	return all
}

// parseFormats reads the value of the key formats: tags with their formats, with commas between
// them.
func parseFormats(v string) (map[string]segment.Format, error) {
	all, err := perTag(v, "it is tags with formats, with commas between them, for example "+
		"orders={YYYY-MM}-{n:6},invoices=INV{n:8}{97}", segment.ParseFormat)
	for tag, f := range all {
		for other, o := range all {
			if f.String() < o.String() && f.Overlaps(o) {
				return nil, fmt.Errorf("%s of %q and %s of %q can write the same text; let them begin with "+
					"different letters, or make them the same", f, tag, o, other)
			}
		}
	}
	return all, err
}

// parseMaxSteps reads the value of the key max_step: tags with numbers.
func parseMaxSteps(v string) (map[string]int, error) {
	const form = "it is tags with the size of their largest segment, for example orders=100,invoices=1"
	return perTag(v, form, func(v string) (int, error) {
		n, err := parseNumber(v, 1)
		if err != nil || int64(n) > segment.MaxStep {
			return 0, fmt.Errorf("it is a whole number from 1 to %d", int64(segment.MaxStep))
		}
		return n, nil
	})
}

// parseHolds reads the value of the key hold: tags with durations.
func parseHolds(v string) (map[string]time.Duration, error) {
	return perTag(v, "it is tags with durations, for example orders=1m,invoices=1s",
		func(v string) (time.Duration, error) {
			d, err := parseDuration(v, false)
			if err == nil && d < time.Second {
				err = errors.New("it is at least 1s")
			}
			return d, err
		})
}

// perTag reads tags with values, with commas between them. An error is form if it is no such text.
func perTag[V any](v, form string, parse func(string) (V, error)) (map[string]V, error) {
	all := map[string]V{}
	for part := range strings.SplitSeq(v, ",") {
		tag, value, ok := strings.Cut(part, "=")
		tag = strings.Trim(tag, " ")
		if !ok || segment.CheckTag(tag) != nil {
			return nil, errors.New(form)
		}
		if _, twice := all[tag]; twice {
			return nil, errors.New("a tag stands in it twice; name each once")
		}
		var err error
		if all[tag], err = parse(strings.Trim(value, " ")); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// showTags writes what perTag reads.
func showTags[V any](all map[string]V) string {
	var parts []string
	for _, tag := range slices.Sorted(maps.Keys(all)) {
		parts = append(parts, fmt.Sprintf("%s=%v", tag, all[tag]))
	}
	return strings.Join(parts, ",")
}

// parseMonth reads the value of the key year_start: a month as a number.
func parseMonth(v string) (time.Month, error) {
	n, err := parseNumber(v, 1)
	if err != nil || n > 12 {
		return 0, errors.New("it is a month from 1 to 12, for example 4 for April")
	}
	return time.Month(n), nil
}

// ParseZone reads the value of the key zone: the name of a time zone.
func ParseZone(v string) (*time.Location, error) {
	zone, err := time.LoadLocation(v)
	if err != nil || v == "" || v == "Local" {
		return nil, errors.New("it is the name of a time zone that this machine knows, for example UTC " +
			"or Europe/Berlin")
	}
	return zone, nil
}
