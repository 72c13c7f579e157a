package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/unalike-id/unalike/config"
	"github.com/unalike-id/unalike/segment"
)

// checkSegmentFlags refuses flags that mean nothing with or without --segment.
func checkSegmentFlags(c *cobra.Command, o *generateOptions) error {
	if err := checkGiven(c, "segment", "a tag"); err != nil {
		return err
	}
	if o.segment == "" {
		for _, flag := range []string{"store", "as", "zone"} {
			if c.Flags().Changed(flag) {
				return usageError{fmt.Errorf("--%s is for --segment; add --segment TAG, or leave it out", flag)}
			}
		}
		return nil
	}
	if err := segment.CheckTag(o.segment); err != nil {
		return usageError{err}
	}
	for _, flag := range []string{"coordinator", "layout", "format", "explain", generatorFlag} {
		if c.Flags().Changed(flag) {
			return usageError{fmt.Errorf("--%s is for IDs, and --segment is for plain numbers; leave one "+
				"of them out", flag)}
		}
	}
	return nil
}

// textsOf is how the flags want the numbers written, and else the file; no formats: as they are.
func (a *app) textsOf(c *cobra.Command, o *generateOptions) (cfg config.Config, err error) {
	if c.Flags().Changed("config") {
		if cfg, err = a.fileSettings(c, o.config, wanted{}); err != nil {
			return cfg, err
		}
	}
	if c.Flags().Changed("zone") {
		if cfg.Zone, err = config.ParseZone(o.zone); err != nil {
			return cfg, usageError{fmt.Errorf("--zone is %q; %w", o.zone, err)}
		}
	}
	format, written := cfg.Formats[o.segment]
	if c.Flags().Changed("as") {
		if format, err = segment.ParseFormat(o.as); err != nil {
			return cfg, usageError{fmt.Errorf("--as: %w", err)}
		}
		written = true
	}
	if o.zone != "" && format.Period() == segment.Always {
		return cfg, usageError{errors.New("--zone is for formats with a date; name one with --as, for " +
			"example {YYYY-MM}-{n:6}, or leave it out")}
	}
	if cfg.Formats = nil; written {
		cfg.Formats = map[string]segment.Format{o.segment: format}
	}
	return cfg, nil
}

// generateNumbers prints numbers of a tag.
func (a *app) generateNumbers(c *cobra.Command, o *generateOptions) error {
	texts, err := a.textsOf(c, o)
	if err != nil {
		return err
	}
	return a.withStore(c, storeOptions{o.store, o.config},
		func(ctx context.Context, store *tagStore) error {
			s, err := a.takeNumbers(ctx, store, o.segment, texts)
			if store.place.folder != "" && errors.Is(err, segment.ErrUnknownTag) {
				// It is this user's own, and there is nobody to ask.
				if err := store.create(ctx, segment.Tag{
					Name: o.segment, Next: 1,
					Step: segment.DefaultStep,
				}); err != nil && !errors.Is(err, segment.ErrTagExists) {
					return err
				}
				s, err = a.takeNumbers(ctx, store, o.segment, texts)
			}
			if errors.Is(err, segment.ErrUnknownTag) {
				return store.unknownTag(ctx, o.segment, err)
			}
			if err != nil {
				return fmt.Errorf("%v: %w", store.place, err)
			}
			defer func() {
				tidy, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
				defer cancel()
				warnOf(a.logger(), s.Close(tidy), "giving unused numbers back failed")
			}()
			return a.writeNumbers(ctx, store.caller, s, int64(o.count))
		})
}

// tagNumbers are those of a tag, one a line.
type tagNumbers interface {
	// lines appends at most n of them, and returns how many there are.
	lines(ctx context.Context, text []byte, n int) ([]byte, int, error)
	Close(ctx context.Context) error
}

// plainNumbers are numbers as they are.
type plainNumbers struct {
	*segment.Sequence
	batch []int64
}

func (p *plainNumbers) lines(ctx context.Context, text []byte, n int) ([]byte, int, error) {
	p.batch = slices.Grow(p.batch, n)[:n]
	n, err := p.Fill(ctx, p.batch)
	for _, v := range p.batch[:n] {
		text = append(strconv.AppendInt(text, v, 10), '\n')
	}
	return text, n, err
}

// writtenNumbers are numbers in the format of their tag.
type writtenNumbers struct {
	*config.Texts
	tag   string
	batch []string
}

func (w *writtenNumbers) lines(ctx context.Context, text []byte, n int) ([]byte, int, error) {
	w.batch = slices.Grow(w.batch, n)[:n]
	n, err := w.FillText(ctx, w.tag, w.batch)
	for _, v := range w.batch[:n] {
		text = append(append(text, v...), '\n')
	}
	return text, n, err
}

// unknownTag adds to an error about a tag that is not there the one that was meant, and else how to
// make it.
func (s *tagStore) unknownTag(ctx context.Context, tag string, err error) error {
	if tags, lerr := s.Tags(ctx); lerr == nil {
		if meant := nearTag(tag, tags); meant != "" {
			return fmt.Errorf("%w; did you mean %q? 'unalike segments create' makes a new one", err, meant)
		}
	}
	return fmt.Errorf("%w; 'unalike segments create' makes it", err)
}

// takeNumbers takes the first segment of a tag.
func (a *app) takeNumbers(ctx context.Context, store *tagStore, tag string,
	texts config.Config,
) (tagNumbers, error) {
	return answer(ctx, store.caller, false, func(ctx context.Context) (tagNumbers, error) {
		c := segment.Config{Logger: a.logger()}
		if len(texts.Formats) == 0 {
			s, err := segment.New(ctx, store.Store, tag, c)
			return &plainNumbers{Sequence: s}, err
		}
		t, err := texts.NewTexts(store.Store, c)
		if err == nil {
			err = t.Ready(ctx)
		}
		return &writtenNumbers{Texts: t, tag: tag}, err
	})
}

// writeNumbers writes count numbers, one a line.
func (a *app) writeNumbers(ctx context.Context, k *caller, s tagNumbers, count int64) error {
	var text []byte
	for left := count; left > 0; {
		n, err := answer(ctx, k, false, func(ctx context.Context) (n int, err error) {
			text, n, err = s.lines(ctx, text[:0], int(min(left, batchSize)))
			return n, err
		})
		if werr := a.write(text); werr != nil {
			return errors.Join(werr, err)
		}
		left -= int64(n)
		if err != nil {
			return fmt.Errorf("after %d of %d numbers: %w", count-left, count, err)
		}
	}
	return nil
}
