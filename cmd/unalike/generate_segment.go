package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/unalike-id/unalike/segment"
)

// defaultStep is that of a tag which generate makes in the default store.
const defaultStep = 1000

// checkSegmentFlags refuses flags that mean nothing with or without --segment.
func checkSegmentFlags(c *cobra.Command, o *generateOptions) error {
	if err := checkGiven(c, "segment", "a tag"); err != nil {
		return err
	}
	if o.segment == "" {
		if c.Flags().Changed("store") {
			return usageError{errors.New("--store is for --segment; add --segment TAG, or leave it out")}
		}
		return nil
	}
	if err := segment.CheckTag(o.segment); err != nil {
		return usageError{err}
	}
	for _, flag := range []string{"coordinator", "layout", "format", "explain"} {
		if c.Flags().Changed(flag) {
			return usageError{fmt.Errorf("--%s is for IDs, and --segment is for plain numbers; leave one of them out", flag)}
		}
	}
	return nil
}

// generateNumbers prints numbers of a tag.
func (a *app) generateNumbers(c *cobra.Command, o *generateOptions) error {
	return a.withStore(c, storeOptions{o.store, o.config}, func(ctx context.Context, store *tagStore) error {
		s, err := a.takeNumbers(ctx, store, o.segment)
		if store.place.folder != "" && errors.Is(err, segment.ErrUnknownTag) {
			// It is this user's own, and there is nobody to ask.
			if err := store.create(ctx, segment.Tag{Name: o.segment, Next: 1, Step: defaultStep}); err != nil && !errors.Is(err, segment.ErrTagExists) {
				return err
			}
			s, err = a.takeNumbers(ctx, store, o.segment)
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
		return a.writeNumbers(ctx, store.asker, s, int64(o.count))
	})
}

// unknownTag adds to an error about a tag that is not there the one that was meant, and else how to make it.
func (s *tagStore) unknownTag(ctx context.Context, tag string, err error) error {
	if tags, lerr := s.Tags(ctx); lerr == nil {
		if meant := nearTag(tag, tags); meant != "" {
			return fmt.Errorf("%w; did you mean %q? 'unalike segments create' makes a new one", err, meant)
		}
	}
	return fmt.Errorf("%w; 'unalike segments create' makes it", err)
}

// takeNumbers takes the first segment of a tag.
func (a *app) takeNumbers(ctx context.Context, store *tagStore, tag string) (*segment.Sequence, error) {
	return answer(ctx, store.asker, false, func(ctx context.Context) (*segment.Sequence, error) {
		return segment.New(ctx, store.Store, tag, segment.Config{Logger: a.logger()})
	})
}

// writeNumbers writes count numbers, one a line.
func (a *app) writeNumbers(ctx context.Context, k *asker, s *segment.Sequence, count int64) error {
	numbers := make([]int64, min(count, batchSize))
	var text []byte
	for left := count; left > 0; {
		n, err := answer(ctx, k, false, func(ctx context.Context) (int, error) { return s.Fill(ctx, numbers[:min(left, int64(len(numbers)))]) })
		text = text[:0]
		for _, v := range numbers[:n] {
			text = append(strconv.AppendInt(text, v, 10), '\n')
		}
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
