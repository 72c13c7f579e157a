package core

import (
	"math"
	"math/big"
	"testing"
)

// TestStepLikeTheOracle compares step with oracle wherever a small layout of three time bits and
// two sequence bits can stand. A term begins with its NotBefore used up, to the end.
func TestStepLikeTheOracle(t *testing.T) {
	nows := []int64{math.MinInt64, 1 << 62} // at the ends of the scale, where a shift overflows
	for now := int64(-3); now <= 9; now++ {
		nows = append(nows, now)
	}
	for bounds := range 4 {
		lead, tolerance := int64(bounds%2*2), int64(bounds/2*2)
		r := rule{shift: 2, lead: lead, limit: lead + tolerance, lastTick: 7, last: 3}
		for _, first := range []int64{0, 2, 5} {
			start := uint64(first)<<2 | 3
			if got := r.startWord(first); got != start {
				t.Fatalf("a term after tick %d starts with %#x, want %#x", first, got, start)
			}
			for old := start; old < 32; old++ {
				for _, now := range nows {
					for _, notAfter := range []int64{0, 2, 5, 7} {
						for _, carried := range []bool{false, true} {
							checkStep(t, &r, old, start, 0, carried, now, notAfter)
							checkStep(t, &r, old|closedBit, start, 0, carried, now, notAfter)
						}
					}
				}
			}
		}
	}
}

// checkStep compares step and fast with oracle, and holds what step issues to the invariants.
func checkStep(t *testing.T, r *rule, old, start, seed uint64, carried bool, now, notAfter int64) {
	t.Helper()
	next, v := r.step(old, start, seed, carried, now, notAfter)
	tick, seq, want := oracle(r, old, start, seed, carried, now, notAfter)
	if v != want {
		t.Fatalf("%+v, %#x after %#x at %d until %d: verdict %d, want %d", r, old, start, now, notAfter,
			v, want)
	}
	stamp := int64(next >> r.shift)
	if (v == issue || v == wait) && (tick.Cmp(big.NewInt(stamp)) != 0 ||
		r.sequence(next) != seq.Uint64()) {
		t.Fatalf("next is %d/%d, want %v/%v", stamp, r.sequence(next), tick, seq)
	}
	outside := next <= old || next&closedBit != 0 || stamp <= r.tick(start) || stamp > notAfter ||
		uint64(stamp) > r.lastTick
	if v == issue && outside { // S1, S2, S7
		t.Fatalf("issued %d/%d after %#x in (%d, %d]", stamp, r.sequence(next), old, r.tick(start),
			notAfter)
	}
	// The short way serves what is ordinary, and leaves everything else to the long one.
	ordinary := v == issue && next == old+1 && stamp == r.tick(old) && stamp >= now &&
		stamp-now <= r.lead
	if r.fast(old, now, notAfter) != ordinary {
		t.Fatalf("the short way issues %d: %v; the long one says %d with %d", old+1, !ordinary, v, next)
	}
}

// oracle is the rule of the design in its own words, with unbounded integers and
// separate fields instead of a packed word.
func oracle(r *rule, old, start, seed uint64, carried bool, now, notAfter int64) (tick,
	seq *big.Int, v verdict,
) {
	if old&closedBit != 0 {
		return nil, nil, closed
	}
	n := big.NewInt
	last, clock := new(big.Int).SetUint64(r.lastTick), n(now)
	if clock.Cmp(last) > 0 {
		return nil, nil, exhausted
	}
	oldTick := n(int64(old >> r.shift))
	tick, seq = new(big.Int).Set(oldTick), new(big.Int).SetUint64(r.sequence(old)+1)
	if seq.Cmp(new(big.Int).Lsh(n(1), uint(r.shift))) == 0 {
		tick.Add(tick, n(1))
	}
	if clock.Cmp(tick) > 0 {
		tick.Set(clock)
	}
	if tick.Cmp(oldTick) != 0 {
		seq.SetUint64(r.first(tick.Int64(), seed))
	}
	ahead := new(big.Int).Sub(tick, clock)
	oldAhead := new(big.Int).Sub(oldTick, clock)
	switch {
	case ahead.Cmp(n(r.lead)) <= 0: // 1
		v = issue
	case old == start && !carried: // 2
		return tick, seq, notOpen
	case oldAhead.Cmp(n(r.limit)) > 0: // 2
		return tick, seq, rollback
	case tick.Cmp(oldTick) == 0: // 3
		v = issue
	default: // 4
		v = wait
	}
	if tick.Cmp(n(notAfter)) > 0 {
		v = ended
		if tick.Cmp(last) > 0 {
			v = exhausted
		} else if int64(start>>r.shift) >= notAfter {
			v = notOpen
		}
	}
	return tick, seq, v
}

func FuzzStep(f *testing.F) {
	f.Add(uint8(12), uint8(41), uint64(0), uint64(100), uint64(1), int64(60_000_000_000),
		int64(60_000_030_000), int64(0), int64(5), uint64(0), false)
	f.Add(uint8(2), uint8(8), uint64(83), uint64(43), uint64(9), int64(14), int64(100), int64(3),
		int64(5), uint64(3), false)
	f.Add(uint8(1), uint8(62), uint64(1<<62), uint64(7), uint64(9), int64(1<<62-1), int64(1<<62-1),
		int64(0), int64(0), uint64(2), false)
	f.Add(uint8(31), uint8(31), uint64(1<<62-1), uint64(7), uint64(9), int64(math.MinInt64),
		int64(1<<31-1), int64(1), int64(1), uint64(1<<31), true)
	f.Fuzz(func(t *testing.T, shift, timeBits uint8, old, start, seed uint64, now, notAfter, lead,
		tolerance int64, spread uint64, shut bool,
	) {
		shift = 1 + shift%31
		timeBits = 1 + timeBits%(63-shift)
		r := rule{
			shift: shift, lastTick: 1<<timeBits - 1, last: 1<<shift - 1,
			spread: spread % (1<<shift + 1),
		}
		r.lead = lead & (1<<40 - 1)
		r.limit = r.lead + tolerance&(1<<40-1)
		old %= 1 << (timeBits + shift)
		start = r.startWord(int64(start % (1 << timeBits)))
		old = max(old, start)
		notAfter = min(notAfter&math.MaxInt64, int64(r.lastTick))
		if shut {
			old |= closedBit
		}

		checkStep(t, &r, old, start, seed, seed&1 != 0, now, notAfter)
	})
}
