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

// text is how numbers of a tag are written, and where they come from.
type text struct {
	format segment.Format
	groups *segment.Groups
}

// NewTexts returns the texts of the tags in Formats, from a store that is open. It does not call
// the store. Close the texts before it. Errors wrap [segment.ErrInvalidConfig].
func (c Config) NewTexts(store segment.Store, s segment.Config) (*Texts, error) {
	t := &Texts{map[string]text{}}
	for tag, format := range c.Formats {
		g, err := segment.NewGroups(store, tag, format.Period(), c.Zone, s)
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
// [segment.Groups.Next] and [segment.Format.Text].
func (t *Texts) FillText(ctx context.Context, tag string, dst []string) (int, error) {
	x, ok := t.all[tag]
	if !ok {
		return 0, fmt.Errorf("%w: %q has no format; name one with the key %s", segment.ErrUnknownTag, tag,
			keyFormats)
	}
	for i := range dst {
		day, n, err := x.groups.Next(ctx)
		if err == nil {
			dst[i], err = x.format.Text(day, n)
		}
		if err != nil {
			return i, err
		}
	}
	return len(dst), nil
}

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
	var errs []error
	for _, x := range t.all {
		errs = append(errs, x.groups.Close(ctx))
	}
	return errors.Join(errs...)
}

// ParseFormats reads the value of the key formats: tags with their formats, with commas between
// them.
func ParseFormats(v string) (map[string]segment.Format, error) {
	all := map[string]segment.Format{}
	for part := range strings.SplitSeq(v, ",") {
		tag, format, ok := strings.Cut(part, "=")
		tag = strings.Trim(tag, " ")
		switch _, twice := all[tag]; {
		case !ok || segment.CheckTag(tag) != nil:
			return nil, errors.New("it is tags with formats, with commas between them, for example " +
				"orders={YYYY-MM}-{n:6},invoices=INV{n:8}{97}")
		case twice:
			return nil, errors.New("a tag stands in it twice; name each once")
		}
		f, err := segment.ParseFormat(strings.Trim(format, " "))
		if err != nil {
			return nil, err
		}
		all[tag] = f
	}
	return all, nil
}

// showFormats writes what ParseFormats reads.
func showFormats(all map[string]segment.Format) string {
	var parts []string
	for _, tag := range slices.Sorted(maps.Keys(all)) {
		parts = append(parts, tag+"="+all[tag].String())
	}
	return strings.Join(parts, ",")
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
