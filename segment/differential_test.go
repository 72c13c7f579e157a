package segment_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"testing/synctest"

	"github.com/unalike-id/unalike/internal/safetytest"
	"github.com/unalike-id/unalike/internal/testserver/fulltest"
	"github.com/unalike-id/unalike/segment"
)

// plain is a sequence as one writes it first, for one caller: one segment, and none ahead.
type plain struct {
	store segment.Store
	step  int64
	have  segment.Range // with Last below First: nothing
}

func (p *plain) next(ctx context.Context) (n int64, err error) {
	if p.have.Len() == 0 {
		if p.have, err = p.store.Take(ctx, "t", p.step); err != nil {
			return 0, err
		}
	}
	n = p.have.First
	p.have.First++
	return n, nil
}

func (p *plain) close(ctx context.Context) (err error) {
	if p.have.Len() > 0 {
		_, err = p.store.GiveBack(ctx, "t", p.have)
	}
	return err
}

// TestLikeTheFirst: with one caller, whatever it calls, the numbers are those of the plain version,
// and so is where the store goes on after Close.
func TestLikeTheFirst(t *testing.T) {
	for seed := range uint64(fulltest.Rounds(50, 5000)) {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 1))
			step := 1 + int64(seed)%50
			ours, theirs := fake(step), fake(step)
			oracle := &plain{theirs, step, segment.Range{First: 1}}
			s := sequence(t, ours, segment.Config{MaxStep: step + rng.Int64N(200)})
			for range rng.IntN(200) {
				got, err := call(t, s, rng)
				if err != nil {
					t.Fatal(err)
				}
				for _, n := range got {
					if want, err := oracle.next(t.Context()); err != nil || n != want {
						safetytest.Unless(t, err).Fatalf("seed %d: %d of %v; want %d, %v", seed, n, got, want, err)
					}
				}
				if rng.IntN(2) == 0 {
					synctest.Wait()
				}
			}
			wantErr(t, "Close", s.Close(t.Context()), nil)
			wantErr(t, "close of the plain version", oracle.close(t.Context()), nil)
			want, err := theirs.Tag(t.Context(), "t")
			if err != nil {
				t.Fatal(err)
			}
			wantStored(t, ours, want.Next)
		})
	}
}

// call makes one call and returns the numbers that it gave.
func call(t *testing.T, s *segment.Sequence, rng *rand.Rand) (got []int64, err error) {
	got = make([]int64, 1)
	switch rng.IntN(4) {
	case 0:
		got = make([]int64, rng.IntN(120))
		_, err = s.Fill(t.Context(), got)
	case 1:
		n, missed := s.TryNext()
		if got[0] = n; missed != nil { // it may not wait
			got = nil
		}
	case 2:
		got[0], err = s.NextContext(t.Context())
	default:
		got[0], err = s.Next()
	}
	return got, err
}
