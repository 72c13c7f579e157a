package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/unalike-id/unalike/config"
	"github.com/unalike-id/unalike/internal/settings"
	"github.com/unalike-id/unalike/segment"
)

// checkSegmentFlags refuses flags that mean nothing with or without --segment.
func checkSegmentFlags(c *cobra.Command, o *generateOptions) error {
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

// formatFlags puts what the flags say of how the numbers are written over what the settings say. A
// tag without a format has plain numbers.
func formatFlags(c *cobra.Command, o *generateOptions, cfg *config.Config) (err error) {
	if o.zone != "" {
		if cfg.Zone, err = settings.ParseZone(o.zone); err != nil {
			return usageError{fmt.Errorf("--zone is %q; %w", o.zone, err)}
		}
	}
	format, written := cfg.Formats[o.segment]
	if c.Flags().Changed("as") || !written {
		if format, err = segment.ParseFormat(cmp.Or(o.as, "{n}")); err != nil {
			return usageError{fmt.Errorf("--as: %w", err)}
		}
	}
	if o.zone != "" && format.Period() == segment.Always {
		return usageError{errors.New("--zone is for formats with a date; name one with --as, for " +
			"example {YYYY-MM}-{n:6}, or leave it out")}
	}
	cfg.Formats = map[string]segment.Format{o.segment: format}
	return nil
}

// generateNumbers prints numbers of a tag.
func (a *app) generateNumbers(c *cobra.Command, o *generateOptions) error {
	from := storeOptions{o.store, o.config}
	cfg, err := a.readSettings(c, o.config, wanted{store: o.store == ""})
	if err == nil {
		err = formatFlags(c, o, &cfg)
	}
	if err != nil {
		return err
	}
	return a.withStore(c, from, cfg, func(ctx context.Context, store *tagStore) error {
		step := evenStep(o.count.v, int64(cfg.MaxSteps[o.segment]))
		format := cfg.Formats[o.segment]
		texts, err := segment.NewGroups(store.Store, o.segment, format.Period(), cfg.Zone, segment.Config{
			Logger: a.logger(), Step: step, MaxStep: step, OnDemand: true, YearStart: cfg.YearStart,
		})
		if err != nil {
			return err
		}
		defer func() {
			tidy, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
			defer cancel()
			warnOf(a.logger(), texts.Close(tidy), "giving unused numbers back failed")
		}()
		if err := store.checkTag(ctx, o.segment); err != nil {
			return err
		}
		if err := store.caller.ask(ctx, false, texts.Ready); err != nil {
			return fmt.Errorf("%v: %w", store.place, err)
		}
		return a.writeNumbers(ctx, store.caller, o, func(ctx context.Context, dst []string) (int, error) {
			return texts.FillText(ctx, format, dst)
		})
	})
}

// evenStep returns the size of equal segments that together have count numbers, or a few more, so
// that hardly any is left when the command ends. Each has batchSize numbers at most, and most if
// that is not 0.
func evenStep(count, most int64) int64 {
	most = min(batchSize, cmp.Or(most, batchSize))
	segments := (count-1)/most + 1
	return (count-1)/segments + 1
}

// checkTag returns an error unless there is a tag. In the default store it makes the tag: that is
// this user's own, and there is nobody to ask.
func (s *tagStore) checkTag(ctx context.Context, tag string) error {
	err := s.caller.ask(ctx, false, func(ctx context.Context) error {
		_, err := s.Store.Tag(ctx, tag)
		return err
	})
	switch {
	case err == nil:
		return nil
	case !errors.Is(err, segment.ErrUnknownTag):
		return fmt.Errorf("%v: %w", s.place, err)
	case s.place.folder != "":
		err := s.create(ctx, segment.Tag{Name: tag, Next: 1, Step: segment.DefaultStep})
		if errors.Is(err, segment.ErrTagExists) {
			return nil // by now
		}
		return err
	}
	if tags, lerr := s.Tags(ctx); lerr == nil {
		if meant := nearTag(tag, tags); meant != "" {
			return fmt.Errorf("%w; did you mean %q? 'unalike segments create' makes a new one", err, meant)
		}
	}
	return fmt.Errorf("%w; 'unalike segments create' makes it", err)
}

// writeNumbers writes as many numbers as o asks for, one a line.
func (a *app) writeNumbers(ctx context.Context, k *caller, o *generateOptions,
	fill func(ctx context.Context, dst []string) (int, error),
) error {
	lines := make([]string, min(o.count.v, batchSize))
	for left := o.count.v; left > 0; {
		n, err := answer(ctx, k, false, func(ctx context.Context) (int, error) {
			return fill(ctx, lines[:min(left, int64(len(lines)))])
		})
		var text []byte
		for _, line := range lines[:n] {
			text = append(append(text, line...), '\n')
		}
		if werr := a.write(text); werr != nil {
			return errors.Join(werr, err)
		}
		left -= int64(n)
		if err != nil {
			return fmt.Errorf("after %d of %d numbers: %w", o.count.v-left, o.count.v, err)
		}
	}
	return nil
}
