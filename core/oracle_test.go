package core_test

import (
	"cmp"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/unalike-id/unalike/clock/clocktest"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/core/coretest"
	"github.com/unalike-id/unalike/internal/safetytest"
)

// plain is the generator that one would write without the wish to be fast: a
// mutex, a tick and a sequence number. The lock-free generator must do the same.
type plain struct {
	mu              sync.Mutex
	clock           *clocktest.Manual
	layout          core.Layout
	lead, tolerance int64 // ticks
	worker          int64
	tick, seq       int64 // of the last ID
	fresh           bool  // no ID yet
	notAfter        int64
}

func newPlain(c *clocktest.Manual, l core.Layout, lead, tolerance time.Duration) *plain {
	return &plain{
		clock: c, layout: l, worker: coretest.WorkerID,
		lead: int64(lead / l.Unit), tolerance: int64(tolerance / l.Unit),
		tick: 0, seq: 1<<l.SequenceBits - 1, fresh: true,
		notAfter: 1<<l.TimeBits - 1,
	}
}

// tryNext is TryNext.
func (p *plain) tryNext() (core.ID, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.clock.Time().Sub(p.layout.Epoch).Milliseconds() / p.layout.Unit.Milliseconds()
	tick, seq := p.tick, p.seq+1
	if seq == 1<<p.layout.SequenceBits {
		tick, seq = tick+1, 0
	}
	if now > tick {
		tick, seq = now, 0
	}
	if tick-now > p.lead {
		if p.tick-now > p.lead+p.tolerance {
			if p.fresh {
				return 0, core.ErrWindowNotOpen
			}
			return 0, core.ErrClockRollback
		}
		if tick != p.tick {
			return 0, core.ErrSequenceExhausted
		}
	}
	p.tick, p.seq, p.fresh = tick, seq, false
	id := tick<<(p.layout.WorkerBits+p.layout.SequenceBits) | p.worker<<p.layout.SequenceBits | seq
	return core.ID(id), nil
}

// singleLease leaves a generator one worker ID, so that a rollback is not healed by taking
// another: the plain generator cannot do that.
func singleLease() coord.LeaseConfig {
	return coord.LeaseConfig{WorkerIDs: coord.Range{First: coretest.WorkerID, Count: 1}}
}

// TestLikeThePlainGenerator runs random scripts of calls and clock moves on both
// generators and compares every result.
func TestLikeThePlainGenerator(t *testing.T) {
	layout := core.DefaultLayout()
	layout.WorkerBits, layout.SequenceBits = 3, 4 // sequences are spent quickly
	total := map[error]int{}
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 1))
		lead := time.Duration(seed%3) * 2 * time.Millisecond
		tolerance := time.Duration(seed%4) * 3 * time.Millisecond
		c := clocktest.NewManual(coretest.Start())
		cfg := core.Config{
			Layout: layout, Clock: c, Lead: lead, RollbackTolerance: cmp.Or(tolerance, -1),
			Lease: singleLease(),
		}
		g, p := coretest.NewWith(t, cfg), newPlain(c, layout, lead, tolerance)
		issued := uint64(0)
		for step := range 3000 {
			switch k := rng.IntN(400); {
			case k < 100:
				c.Advance(time.Duration(rng.IntN(400)) * time.Microsecond)
			case k < 110:
				c.Advance(-time.Duration(rng.IntN(4000)) * time.Microsecond)
			case k == 110:
				c.Advance(time.Duration(rng.IntN(60)-30) * time.Millisecond)
			}
			want, wantErr := p.tryNext()
			id, err := g.TryNext()
			if id != want || !errors.Is(err, wantErr) {
				safetytest.Of(t).Fatalf("seed %d, step %d: got %d, %v; plain says %d, %v", seed, step, id, err,
					want, wantErr)
			}
			total[wantErr]++
			if err == nil {
				issued++
			}
			if errors.Is(wantErr, core.ErrClockRollback) && rng.IntN(20) == 0 {
				c.Advance(10 * time.Millisecond)
			}
		}
		if n := g.Health().Issued; n != issued {
			t.Errorf("seed %d: Health counts %d IDs, issued were %d", seed, n, issued)
		}
	}
	for _, kind := range []error{nil, core.ErrClockRollback, core.ErrSequenceExhausted} {
		if total[kind] < 10_000 {
			t.Errorf("the scripts are no test: %v came %d times of %v", kind, total[kind], total)
		}
	}
}

// TestLikeThePlainGeneratorConcurrently lets many goroutines race for the ticks of a
// clock that moves only between rounds. Whatever the interleaving, the set of IDs
// is the one that a mutex gives.
func TestLikeThePlainGeneratorConcurrently(t *testing.T) {
	layout := core.DefaultLayout()
	layout.WorkerBits, layout.SequenceBits = 3, 6
	c := clocktest.NewManual(coretest.Start())
	const lead = 3 * time.Millisecond
	g := coretest.NewWith(t, core.Config{Layout: layout, Clock: c, Lead: lead, Lease: singleLease()})
	p := newPlain(c, layout, lead, core.DefaultRollbackTolerance)
	rng := rand.New(rand.NewPCG(7, 7))
	for round := range 500 {
		c.Advance(time.Duration(rng.IntN(8)-3) * time.Millisecond)
		var want []core.ID
		var wantErr error
		for wantErr == nil {
			var id core.ID
			if id, wantErr = p.tryNext(); wantErr == nil {
				want = append(want, id)
			}
		}
		got := make([][]core.ID, 6)
		var all sync.WaitGroup
		for i := range got {
			all.Go(func() {
				for {
					id, err := g.TryNext()
					if err != nil {
						if !errors.Is(err, wantErr) {
							t.Errorf("round %d: %v, want %v", round, err, wantErr)
						}
						return
					}
					got[i] = append(got[i], id)
				}
			})
		}
		all.Wait()
		ids := slices.Concat(got...)
		slices.Sort(ids)
		if !slices.Equal(ids, want) {
			safetytest.Of(t).Fatalf("round %d: %d IDs, %v; the plain generator issues %d, %v", round,
				len(ids), ids, len(want), want)
		}
	}
}

// TestFillIsManyNexts compares Fill with single calls.
func TestFillIsManyNexts(t *testing.T) {
	layout := core.DefaultLayout()
	layout.WorkerBits, layout.SequenceBits = 3, 5
	one := coretest.NewWith(t, core.Config{Layout: layout})
	many := coretest.NewWith(t, core.Config{Layout: layout})
	for size := range 150 {
		got, want := make([]core.ID, size), make([]core.ID, size)
		n, err := many.Fill(t.Context(), got)
		for i := range want {
			want[i], _ = one.Next()
		}
		if n != size || err != nil || !slices.Equal(got, want) {
			safetytest.Unless(t, err).Fatalf("Fill of %d: %d, %v: %v, want %v", size, n, err, got, want)
		}
	}
	if a, b := one.Health().Issued, many.Health().Issued; a != b {
		t.Errorf("counts differ: %d and %d", a, b)
	}
}
