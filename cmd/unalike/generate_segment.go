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
	if o.segment == "" {
		if o.store != "" {
			return usageError{errors.New("--store is for --segment; add --segment TAG, or leave it out")}
		}
		return nil
	}
	if err := segment.CheckTag(o.segment); err != nil {
		return usageError{err}
	}
	for _, flag := range []string{"coordinator", "config", "layout", "format", "explain"} {
		if c.Flags().Changed(flag) {
			return usageError{fmt.Errorf("--%s is for IDs, and --segment is for plain numbers; leave one of them out", flag)}
		}
	}
	return nil
}

// generateNumbers prints numbers of a tag.
func (a *app) generateNumbers(ctx context.Context, o *generateOptions) error {
	return a.withStore(ctx, o.store, func(ctx context.Context, p storePlace, store segment.Store) (err error) {
		s, err := segment.New(ctx, store, o.segment, segment.Config{Logger: a.logger()})
		if maker, ok := store.(segment.Creator); ok && p.folder != "" && errors.Is(err, segment.ErrUnknownTag) {
			// It is this user's own, and there is nobody to ask.
			if err := maker.Create(ctx, segment.Tag{Name: o.segment, Next: 1, Step: defaultStep}); err != nil && !errors.Is(err, segment.ErrTagExists) {
				return err
			}
			s, err = segment.New(ctx, store, o.segment, segment.Config{Logger: a.logger()})
		}
		if errors.Is(err, segment.ErrUnknownTag) {
			return fmt.Errorf("%w; 'unalike segments create' makes it", err)
		}
		if err != nil {
			return err
		}
		defer func() {
			tidy, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
			defer cancel()
			warnOf(a.logger(), s.Close(tidy), "giving unused numbers back failed")
		}()
		return a.writeNumbers(ctx, s, int64(o.count))
	})
}

// writeNumbers writes count numbers, one a line.
func (a *app) writeNumbers(ctx context.Context, s *segment.Sequence, count int64) error {
	numbers := make([]int64, min(count, batchSize))
	var text []byte
	for left := count; left > 0; {
		n, err := s.Fill(ctx, numbers[:min(left, int64(len(numbers)))])
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
