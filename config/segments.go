package config

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/unalike-id/unalike/internal/settings"
	"github.com/unalike-id/unalike/segment"
)

// tidyTime is how long giving numbers back may take when OpenSegments has failed.
const tidyTime = 5 * time.Second

// Segments is a [segment.Set] together with the texts of its tags and the store that was opened for
// it. All its methods are safe for concurrent use.
type Segments struct {
	*segment.Set
	texts map[string]text // by tag
	store segment.Store
}

// OpenSegments opens the store and makes a set of all its tags; both log to s.Logger, or
// to Logger if that is nil. The driver of the URL's scheme must have been imported from
// the folders of package segment. Of the tags in Segments and Formats there are numbers in memory
// when it returns, which ends with ctx; of the others, the first number is taken when it is asked
// for.
//
// Errors wrap [coord.ErrInvalid] if it is the settings that are wrong, and are
// otherwise those of package segment: [segment.ErrUnknownTag] if the store does not have
// a tag that is named. None contains a password. After an error nothing is left open.
func (c Config) OpenSegments(ctx context.Context, s segment.Config) (*Segments, error) {
	all, err := c.StartSegments(ctx, s)
	if err != nil {
		return nil, err
	}
	key, err := keySegments, all.ready(ctx, c.Segments)
	if err == nil {
		key, err = keyFormats, all.readyTexts(ctx)
	}
	if err != nil {
		tidy, cancel := context.WithTimeout(context.WithoutCancel(ctx), tidyTime)
		defer cancel()
		return nil, errors.Join(c.ofSegments(key, err), all.Close(tidy))
	}
	return all, nil
}

// StartSegments is OpenSegments without the wait for numbers: the first number of each tag is taken
// when it is asked for, and a tag in Segments or Formats that the store does not have is an error
// then. The store has to answer: StartSegments reads its tags.
func (c Config) StartSegments(ctx context.Context, s segment.Config) (*Segments, error) {
	if c.Store == "" {
		return nil, invalid("config: no store is set; name its URL with the key store of the "+
			"file, or in %s", settings.EnvName(keyStore))
	}
	if _, err := expand(c.Store, nil); err != nil {
		return nil, invalid("config: store: %w", err)
	}
	if s.Logger == nil {
		s.Logger = c.Logger
	}
	store, err := segment.Open(ctx, c.Store, segment.OpenOptions{Logger: s.Logger})
	if err != nil {
		return nil, c.ofSegments(keyStore, err)
	}
	s = c.ofTags(s)
	texts, err := c.newTexts(store, s)
	if err != nil {
		return nil, errors.Join(c.ofSegments(keyFormats, err), store.Close())
	}
	set, err := segment.NewSet(ctx, store, s)
	if err != nil {
		return nil, errors.Join(c.ofSegments(keyStore, err), store.Close())
	}
	return &Segments{Set: set, texts: texts, store: store}, nil
}

// Health returns a snapshot of each tag, as [segment.Set.Health] does, and of the groups that texts
// have numbers of, in the order of their names. A tag whose texts and numbers are both in use has
// one snapshot: what was counted of both, and else that of the one that is worse off.
func (s *Segments) Health() (all []segment.Health) {
	written := map[string]segment.Health{}
	for _, x := range s.texts {
		if h, ok := x.groups.Health(); ok {
			if most := x.format.Most(); h.Most == 0 && most < math.MaxInt64 || most < h.Most {
				h.Most = most
				h.Unused = x.groups.Room(most)
			}
			written[h.Tag] = h
		}
	}
	for _, h := range s.Set.Health() {
		if w, ok := written[h.Tag]; ok {
			h = together(h, w)
			delete(written, h.Tag)
		}
		all = append(all, h)
	}
	all = slices.AppendSeq(all, maps.Values(written))
	slices.SortFunc(all, func(a, b segment.Health) int { return strings.Compare(a.Tag, b.Tag) })
	return all
}

// together returns one snapshot of a tag's numbers and texts: the worse one, with the counts of
// both. Numbers that were never asked for say nothing.
func together(a, b segment.Health) segment.Health {
	switch {
	case a.Refills+a.Failures == 0:
		return b
	case a.Healthy && !b.Healthy, a.Healthy == b.Healthy && a.Left > b.Left:
		a, b = b, a
	}
	a.Failing = cmp.Or(a.Failing, b.Failing)
	if a.Most == 0 || b.Most > 0 && b.Unused < a.Unused {
		a.Most, a.Unused = b.Most, b.Unused
	}
	a.Issued, a.Refills, a.Failures = a.Issued+b.Issued, a.Refills+b.Refills, a.Failures+b.Failures
	if a.LastRefill.Before(b.LastRefill) {
		a.LastRefill, a.RefillTook = b.LastRefill, b.RefillTook
	}
	return a
}

// ofTags returns s with the settings of tags and groups that c has.
func (c Config) ofTags(s segment.Config) segment.Config {
	s.YearStart = cmp.Or(s.YearStart, c.YearStart)
	s.Tags = maps.Clone(s.Tags)
	if s.Tags == nil {
		s.Tags = map[string]segment.TagConfig{}
	}
	for tag, step := range c.MaxSteps {
		t := s.Tags[tag]
		t.MaxStep = int64(step)
		s.Tags[tag] = t
	}
	for tag, lasts := range c.Holds {
		t := s.Tags[tag]
		t.Hold = lasts
		s.Tags[tag] = t
	}
	return s
}

// ready waits until there are numbers of all tags. All that are missing are named at once.
func (s *Segments) ready(ctx context.Context, tags []string) error {
	var missing []string
	known := s.Tags() // read a moment ago
	for _, tag := range tags {
		if !slices.Contains(known, tag) {
			missing = append(missing, strconv.Quote(tag))
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("%w: %s; make it in the store, with 'unalike segments create' for example",
			segment.ErrUnknownTag, strings.Join(missing, ", "))
	}
	for _, tag := range tags {
		q, err := s.Sequence(ctx, tag)
		if err == nil {
			err = q.Ready(ctx)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Close gives unused numbers back and closes the store, in this order. It blocks until
// that is done or ctx ends; the store is closed in any case. Give it a context that has
// not ended, with a few seconds left. Closing again returns the set's first result.
func (s *Segments) Close(ctx context.Context) error {
	return errors.Join(s.closeTexts(ctx), s.Set.Close(ctx), s.store.Close())
}

// Store returns the store, for what it offers beside numbers: see [segment.Creator].
// It is closed by Close.
func (s *Segments) Store() segment.Store { return s.store }

// ofSegments adds to an error where its key is set.
func (c Config) ofSegments(key string, err error) error {
	return fmt.Errorf("config: %s%s: %w", c.at(key), key, err)
}
