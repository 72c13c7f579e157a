package numbertest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/unalike-id/unalike/segment"
)

const (
	// callTime is for one call on a machine that is busy with other things.
	callTime = 5 * time.Minute
	// callers is how many goroutines there are.
	callers = 64
)

// within returns a context for one call.
func within(tb testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), callTime)
	tb.Cleanup(cancel)
	return ctx
}

// Store is what the tests need of a store.
type Store interface {
	segment.Store
	segment.Creator
}

// OneTag has 64 goroutines take numbers of one tag, one by one and in runs, from two sequences:
// none comes twice, and each goroutine gets rising ones.
func OneTag(t *testing.T, a, b Store, rounds int) {
	if err := a.Create(within(t), segment.Tag{Name: "one", Next: 1, Step: 100}); err != nil {
		t.Fatal(err)
	}
	var sequences []*segment.Sequence
	for _, store := range []Store{a, b} {
		s, err := segment.New(within(t), store, "one",
			segment.Config{MaxStep: 3000, RefillTimeout: callTime})
		if err != nil {
			t.Fatal(err)
		}
		sequences = append(sequences, s)
	}
	var l Ledger
	var running sync.WaitGroup
	for i := range callers {
		running.Go(func() {
			s, dst := sequences[i%len(sequences)], make([]int64, 500)
			for round := range rounds {
				got := dst[:1+rand.N(len(dst))]
				if err := some(within(t), s, got, round%2 == 0); err != nil {
					t.Errorf("goroutine %d: %v", i, err)
					return
				}
				for k := 1; k < len(got); k++ {
					if got[k] <= got[k-1] {
						t.Errorf("goroutine %d: after %d came %d", i, got[k-1], got[k])
					}
				}
				l.Note(got)
			}
		})
	}
	running.Wait()
	for _, s := range sequences {
		if err := s.Close(within(t)); err != nil {
			t.Error(err)
		}
	}
	l.Check(t)
}

// some fills dst, one by one or in a run.
func some(ctx context.Context, s *segment.Sequence, dst []int64, run bool) (err error) {
	if run {
		_, err = s.Fill(ctx, dst)
		return err
	}
	for i := range dst {
		if dst[i], err = s.Next(); err != nil {
			return err
		}
	}
	return nil
}

// ManyTags takes numbers of a thousand tags from two sets of them. The tags n0 to n999 are there
// and begin at 1. In each tag no number comes twice, and what is not used is given back at the end:
// only what the first set held when the second one took more is left out.
func ManyTags(t *testing.T, a, b Store) {
	const tags, each = 1000, 3
	var sets []*segment.Set
	for _, store := range []Store{a, b} {
		s, err := segment.NewSet(within(t), store, segment.Config{RefillTimeout: callTime})
		if err != nil {
			t.Fatal(err)
		}
		sets = append(sets, s)
	}
	var ledgers [tags]Ledger
	var running sync.WaitGroup
	for i := range callers / 4 {
		running.Go(func() {
			s := sets[i%len(sets)]
			for n := i / 2; n < tags; n += callers / 8 {
				tag := fmt.Sprint("n", n)
				for range each {
					got, err := s.Next(within(t), tag)
					if err != nil {
						t.Errorf("%s: %v", tag, err)
						return
					}
					ledgers[n].Note([]int64{got})
				}
			}
		})
	}
	running.Wait()
	for i, s := range sets {
		if known := len(s.Tags()); known < tags {
			t.Errorf("set %d knows %d tags", i, known)
		}
		if err := s.Close(within(t)); err != nil {
			t.Error(err)
		}
	}
	for n := range ledgers {
		if got := ledgers[n].twice(); len(got) > 0 || ledgers[n].count != int64(len(sets)*each) {
			t.Errorf("n%d: %d numbers, twice %v", n, ledgers[n].count, got)
		}
	}
}
