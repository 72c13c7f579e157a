package core

import (
	"math"
	"math/big"
	"testing"
)

// testRule is a small rule: 2 sequence bits, 8 time bits, L and R as given.
func testRule(lead, tolerance int64) rule {
	return rule{shift: 2, lead: lead, limit: lead + tolerance, lastTick: 255, last: 3}
}

// w builds a state word for testRule.
func w(tick, seq uint64) uint64 { return tick<<2 | seq }

func TestStep(t *testing.T) {
	const nb, na = 10, 100 // the window (10, 100]
	start := w(nb, 3)
	tests := []struct {
		name            string
		lead, tolerance int64
		old             uint64
		now, notAfter   int64
		word            uint64
		verdict         verdict
	}{
		{"first ID takes the clock's tick", 0, 5, start, 20, na, w(20, 0), issue},
		{"lower bound is exclusive", 0, 5, start, 10, na, w(11, 0), notOpen},
		{"same tick", 0, 5, w(20, 0), 20, na, w(20, 1), issue},
		{"new tick", 0, 5, w(20, 2), 21, na, w(21, 0), issue},
		{"spent sequence waits for the next tick", 0, 5, w(20, 3), 20, na, w(21, 0), wait},
		{"last tick of the window", 0, 5, w(99, 3), 100, na, w(100, 0), issue},
		{"never past the window, waiting neither", 0, 5, w(100, 3), 100, na, w(101, 0), ended},
		{"step back within the tolerance goes on in the tick", 0, 5, w(20, 1), 15, na, w(20, 2), issue},
		{"step back beyond the tolerance", 0, 5, w(20, 1), 14, na, w(20, 2), rollback},
		{"clock at the end of the scale", 0, 5, w(20, 1), math.MinInt64, na, w(20, 2), rollback},
		{
			"window opens within the tolerance, which is not for that", 0, 5, start, 5, na, w(11, 0),
			notOpen,
		},
		{"empty window, clock past it", 0, 5, start, 50, nb, w(50, 0), notOpen},
		{"lead: as far as it goes", 3, 5, w(22, 3), 20, na, w(23, 0), issue},
		{"lead spent: waits", 3, 5, w(23, 3), 20, na, w(24, 0), wait},
		{"beyond lead and tolerance", 3, 5, w(29, 1), 20, na, w(29, 2), rollback},
		{"lead never leaves the window", 3, 5, w(100, 3), 100, na, w(101, 0), ended},
		{
			"closed, whatever the clock", 0, 5, w(20, 1) | closedBit, math.MaxInt64, math.MaxInt64, 0,
			closed,
		},
		{"last ID of the layout", 0, 5, w(255, 2), 255, 255, w(255, 3), issue},
		{"time bits spent", 0, 5, w(255, 3), 255, 255, w(256, 0), exhausted},
		{"clock past the layout, whose shift overflows", 0, 5, w(20, 1), 1 << 62, 255, 0, exhausted},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := testRule(tt.lead, tt.tolerance)
			word, v := r.step(tt.old, start, 0, false, tt.now, tt.notAfter)
			if v != tt.verdict {
				t.Fatalf("verdict %d, want %d", v, tt.verdict)
			}
			if (v == issue || v == wait) && word != tt.word {
				t.Errorf("word %d/%d, want %d/%d", word>>2, word&3, tt.word>>2, tt.word&3)
			}
		})
	}
}

// TestStepLikeTheOracle compares step with oracle wherever a small layout of three time bits and
// one sequence bit can stand. A term begins with its NotBefore used up, to the end.
func TestStepLikeTheOracle(t *testing.T) {
	for bounds := range 4 {
		lead, tolerance := int64(bounds%2*2), int64(bounds/2*2)
		r := rule{shift: 1, lead: lead, limit: lead + tolerance, lastTick: 7, last: 1}
		for _, first := range []int64{0, 2, 5} {
			start := uint64(first)<<1 | 1
			if got := r.startWord(first); got != start {
				t.Fatalf("a term after tick %d starts with %#x, want %#x", first, got, start)
			}
			for old := start; old < 16; old++ {
				for now := int64(-3); now <= 9; now++ {
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
	if r.fast(old, now, notAfter) && (v != issue || next != old+1) {
		t.Fatalf("the short way issues %d, the long one says %d with %d", old+1, v, next)
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

// TestFast checks that the short way serves what is ordinary, and leaves everything
// else to the long one.
func TestFast(t *testing.T) {
	for _, tt := range []struct {
		name          string
		lead          int64
		old           uint64
		now, notAfter int64
		want          bool
	}{
		{"same tick", 0, w(20, 1), 20, 100, true},
		{"last ID of the tick", 0, w(20, 2), 20, 100, true},
		{"last tick of the window", 0, w(100, 1), 100, 100, true},
		{"within the lead", 3, w(23, 2), 20, 100, true},
		{"past the lead", 3, w(24, 0), 20, 100, false},
		{"new tick", 0, w(20, 1), 21, 100, false},
		{"spent", 0, w(20, 3), 20, 100, false},
		{"after the window", 0, w(101, 1), 101, 100, false},
		{"closed", 0, w(20, 1) | closedBit, 20, 100, false},
		{"closed, and a clock past the layout", 0, w(20, 1) | closedBit, int64((w(20,
			1) | closedBit) >> 2), 255, false},
		{"past the layout, whose shift overflows", 0, w(255, 1), 1 << 62, 255, false},
	} {
		r := testRule(tt.lead, 5)
		if ok := r.fast(tt.old, tt.now, tt.notAfter); ok != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, ok, tt.want)
		}
	}
}
