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

// text is the format of a tag and the numbers that it writes.
type text struct {
	format segment.Format
	groups *segment.Groups
}

// newTexts returns the texts of the tags in Formats. It does not call the store.
func (c Config) newTexts(store segment.Store, s segment.Config) (map[string]text, error) {
	all := map[string]text{}
	for tag, format := range c.Formats {
		g, err := segment.NewGroups(store, tag, format.Period(), c.Zone, s)
		if err != nil {
			return nil, err
		}
		all[tag] = text{format, g}
	}
	return all, nil
}

// FillText fills dst with new numbers of a tag, written in its format, as
// [segment.Groups.FillText] does. The error is [segment.ErrUnknownTag] if the tag has no format.
func (s *Segments) FillText(ctx context.Context, tag string, dst []string) (int, error) {
	x, err := s.text(tag)
	if err != nil {
		return 0, err
	}
	return x.groups.FillText(ctx, x.format, dst)
}

// FillTextOn is FillText for the group that a day is in, as [segment.Groups.FillTextOn].
func (s *Segments) FillTextOn(ctx context.Context, tag string, day time.Time, dst []string,
) (int, error) {
	x, err := s.text(tag)
	if err != nil {
		return 0, err
	}
	return x.groups.FillTextOn(ctx, x.format, day, dst)
}

// text returns the format of a tag.
func (s *Segments) text(tag string) (text, error) {
	x, ok := s.texts[tag]
	if !ok {
		return x, fmt.Errorf("%w: %q has no format; name one with the key %s", segment.ErrUnknownTag, tag,
			keyFormats)
	}
	return x, nil
}

// readyTexts waits until there are numbers of all tags that have a format.
func (s *Segments) readyTexts(ctx context.Context) error {
	for _, tag := range slices.Sorted(maps.Keys(s.texts)) {
		if err := s.texts[tag].groups.Ready(ctx); err != nil {
			return err
		}
	}
	return nil
}

// closeTexts gives back what is unused, as [segment.Groups.Close] does.
func (s *Segments) closeTexts(ctx context.Context) error {
	errs := make(chan error, len(s.texts))
	for _, x := range s.texts { // at the same time, as the store may not answer
		go func() { errs <- x.groups.Close(ctx) }()
	}
	var all error
	for range s.texts {
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
