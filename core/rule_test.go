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
		{"first tick of the window", 0, 5, start, 11, na, w(11, 0), issue},
		{"lower bound is exclusive", 0, 5, start, 10, na, w(11, 0), notOpen},
		{"same tick", 0, 5, w(20, 0), 20, na, w(20, 1), issue},
		{"new tick", 0, 5, w(20, 2), 21, na, w(21, 0), issue},
		{"spent sequence waits for the next tick", 0, 5, w(20, 3), 20, na, w(21, 0), wait},
		{"spent sequence in a past tick", 0, 5, w(20, 3), 22, na, w(22, 0), issue},
		{"last tick of the window", 0, 5, w(99, 3), 100, na, w(100, 0), issue},
		{"after the window", 0, 5, w(100, 1), 101, na, w(101, 0), ended},
		{"end of the window extended", 0, 5, w(100, 1), 101, 101, w(101, 0), issue},
		{"never past the window, waiting neither", 0, 5, w(100, 3), 100, na, w(101, 0), ended},

		{"step back within the tolerance goes on in the tick", 0, 5, w(20, 1), 15, na, w(20, 2), issue},
		{"step back within the tolerance, spent: waits", 0, 5, w(20, 3), 15, na, w(21, 0), wait},
		{"step back beyond the tolerance", 0, 5, w(20, 1), 14, na, w(20, 2), rollback},
		{"step back beyond the tolerance, spent", 0, 5, w(20, 3), 14, na, w(21, 0), rollback},
		{"no tolerance: one tick is a rollback", 0, 0, w(20, 1), 19, na, w(20, 2), rollback},
		{"no tolerance: same tick", 0, 0, w(20, 1), 20, na, w(20, 2), issue},
		{"step back in the last tick of the window", 0, 5, w(100, 3), 94, na, w(101, 0), rollback},
		{"step back before the epoch", 0, 5, w(20, 1), -1000, na, w(20, 2), rollback},
		{"step back before the epoch, within the tolerance", 0, 30, w(20, 1), -5, na, w(20, 2), issue},
		{"clock at the end of the scale", 0, 5, w(20, 1), math.MinInt64, na, w(20, 2), rollback},

		{"window not open yet", 0, 5, start, 4, na, w(11, 0), notOpen},
		{"window opens within the tolerance, which is not for that", 0, 5, start, 5, na, w(11, 0), notOpen},
		{"empty window, clock at its end", 0, 5, start, 10, nb, w(11, 0), notOpen},
		{"empty window, clock past it", 0, 5, start, 50, nb, w(50, 0), notOpen},

		{"lead: window opens within it", 3, 5, start, 8, na, w(11, 0), issue},
		{"lead: window opens later", 3, 5, start, 7, na, w(11, 0), notOpen},
		{"lead: next tick ahead of the clock", 3, 5, w(20, 3), 20, na, w(21, 0), issue},
		{"lead: as far as it goes", 3, 5, w(22, 3), 20, na, w(23, 0), issue},
		{"lead spent: waits", 3, 5, w(23, 3), 20, na, w(24, 0), wait},
		{"lead in use, rest of the tick", 3, 5, w(23, 1), 20, na, w(23, 2), issue},
		{"lead and tolerance together", 3, 5, w(28, 1), 20, na, w(28, 2), issue},
		{"beyond lead and tolerance", 3, 5, w(29, 1), 20, na, w(29, 2), rollback},
		{"lead never leaves the window", 3, 5, w(100, 3), 100, na, w(101, 0), ended},

		{"closed", 0, 5, w(20, 1) | closedBit, 21, na, 0, closed},
		{"closed, whatever the clock", 0, 5, w(20, 1) | closedBit, math.MaxInt64, math.MaxInt64, 0, closed},

		{"last tick of the layout", 0, 5, w(254, 3), 255, 255, w(255, 0), issue},
		{"last ID of the layout", 0, 5, w(255, 2), 255, 255, w(255, 3), issue},
		{"time bits spent", 0, 5, w(255, 3), 255, 255, w(256, 0), exhausted},
		{"clock past the layout", 0, 5, w(20, 1), 256, 255, 0, exhausted},
		{"clock past the layout, whose shift overflows", 0, 5, w(20, 1), 1 << 62, 255, 0, exhausted},
		{"clock far past the layout", 0, 5, w(20, 1), math.MaxInt64, 255, 0, exhausted},
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

// TestStepBehindAnEarlierTerm begins a term at the tick of the last ID of the term
// before: what holds for that ID's word holds for the starting word.
func TestStepBehindAnEarlierTerm(t *testing.T) {
	start := w(10, 3)
	for _, tt := range []struct {
		name          string
		now, notAfter int64
		verdict       verdict
	}{
		{"a later tick", 11, 100, issue},
		{"the tick of that ID, whose sequence counts as spent", 10, 100, wait},
		{"step back within the tolerance", 5, 100, wait},
		{"step back beyond the tolerance", 4, 100, rollback},
		{"empty window", 10, 10, notOpen},
	} {
		r := testRule(0, 5)
		if word, v := r.step(start, start, 0, true, tt.now, tt.notAfter); v != tt.verdict || word != w(11, 0) {
			t.Errorf("%s: verdict %d with %d/%d, want %d with 11/0", tt.name, v, word>>2, word&3, tt.verdict)
		}
	}
}

// oracle is the rule of the design in its own words, with unbounded integers and
// separate fields instead of a packed word.
func oracle(r *rule, old, start, seed uint64, carried bool, now, notAfter int64) (tick, seq *big.Int, v verdict) {
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
	f.Add(uint8(12), uint8(41), uint64(0), uint64(100), uint64(1), int64(60_000_000_000), int64(60_000_030_000), int64(0), int64(5), uint64(0), false)
	f.Add(uint8(2), uint8(8), uint64(83), uint64(43), uint64(9), int64(14), int64(100), int64(3), int64(5), uint64(3), false)
	f.Add(uint8(1), uint8(62), uint64(1<<62), uint64(7), uint64(9), int64(1<<62-1), int64(1<<62-1), int64(0), int64(0), uint64(2), false)
	f.Add(uint8(31), uint8(31), uint64(1<<62-1), uint64(7), uint64(9), int64(math.MinInt64), int64(1<<31-1), int64(1), int64(1), uint64(1<<31), true)
	f.Fuzz(func(t *testing.T, shift, timeBits uint8, old, start, seed uint64, now, notAfter, lead, tolerance int64, spread uint64, shut bool) {
		shift = 1 + shift%31
		timeBits = 1 + timeBits%(63-shift)
		r := rule{shift: shift, lastTick: 1<<timeBits - 1, last: 1<<shift - 1, spread: spread % (1<<shift + 1)}
		r.lead = lead & (1<<40 - 1)
		r.limit = r.lead + tolerance&(1<<40-1)
		old %= 1 << (timeBits + shift)
		start = r.startWord(int64(start % (1 << timeBits)))
		old = max(old, start)
		notAfter = min(notAfter&math.MaxInt64, int64(r.lastTick))
		if shut {
			old |= closedBit
		}

		carried := seed&1 != 0
		next, v := r.step(old, start, seed, carried, now, notAfter)
		tick, seq, want := oracle(&r, old, start, seed, carried, now, notAfter)
		if v != want {
			t.Fatalf("verdict %d, want %d", v, want)
		}
		if v == issue || v == wait {
			if !tick.IsUint64() || next>>shift != tick.Uint64() || r.sequence(next) != seq.Uint64() {
				t.Fatalf("next is %d/%d, want %v/%v", next>>shift, r.sequence(next), tick, seq)
			}
		}
		if v == issue { // the invariants themselves: S1, S2, S7
			stamp := int64(next >> shift)
			if next <= old || next&closedBit != 0 || stamp <= r.tick(start) || stamp > notAfter || uint64(stamp) > r.lastTick {
				t.Fatalf("issued %d/%d after %d/%d in (%d, %d]", stamp, r.sequence(next), r.tick(old), r.sequence(old), r.tick(start), notAfter)
			}
		}
		if r.fast(old, now, notAfter) && (v != issue || next != old+1) {
			t.Fatalf("the short way issues %d, the long one says %d with %d", old+1, v, next)
		}
	})
}

// TestFast checks that the short way serves what is ordinary, and leaves everything
// else to the long one.
func TestFast(t *testing.T) {
	r := testRule(0, 5)
	for _, tt := range []struct {
		name          string
		old           uint64
		now, notAfter int64
		want          bool
	}{
		{"same tick", w(20, 1), 20, 100, true},
		{"last ID of the tick", w(20, 2), 20, 100, true},
		{"last tick of the window", w(100, 1), 100, 100, true},
		{"new tick", w(20, 1), 21, 100, false},
		{"first ID", w(10, 3), 20, 100, false},
		{"spent", w(20, 3), 20, 100, false},
		{"small rollback", w(20, 1), 19, 100, false},
		{"after the window", w(101, 1), 101, 100, false},
		{"closed", w(20, 1) | closedBit, 20, 100, false},
		{"closed, and a clock past the layout", w(20, 1) | closedBit, int64((w(20, 1) | closedBit) >> 2), 255, false},
		{"before the epoch", w(20, 1), -1, 100, false},
		{"past the layout", w(255, 1), 256, 255, false},
		{"past the layout, whose shift overflows", w(20, 1), 1 << 62, 255, false},
	} {
		if ok := r.fast(tt.old, tt.now, tt.notAfter); ok != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, ok, tt.want)
		}
	}
	r.lead, r.limit = 3, 8
	if !r.fast(w(23, 2), 20, 100) {
		t.Error("within the lead: not served")
	}
	if r.fast(w(24, 0), 20, 100) {
		t.Error("past the lead: served")
	}
}

// TestStartWord checks that a term begins with its NotBefore used up, to the end.
func TestStartWord(t *testing.T) {
	r := testRule(0, 5)
	for _, tick := range []int64{0, 10, 255} {
		if got := r.startWord(tick); got != w(uint64(tick), 3) || r.tick(got) != tick || r.used(got, got, 0) != 0 {
			t.Errorf("startWord(%d) is %d, want %d", tick, got, w(uint64(tick), 3))
		}
	}
}

// TestUsedCountsWhatStepIssued walks a rule through random clocks and checks
// that every ID between entering and leaving a tick is counted once.
func TestUsedCountsWhatStepIssued(t *testing.T) {
	for _, spread := range []uint64{0, 2, 3, 4} {
		r := testRule(2, 3)
		r.spread = spread
		const seed = 99
		start := r.startWord(5)
		word, counted, issued, now := start, uint64(0), uint64(0), int64(6)
		for i := range 2000 {
			next, v := r.step(word, start, seed, false, now, 255)
			if v == issue {
				issued++
				if next>>r.shift != word>>r.shift {
					counted += r.used(word, start, seed)
				}
				word = next
			}
			if mix(uint64(i))%5 == 0 {
				now = min(now+int64(mix(uint64(i)+7)%4)-1, 250)
			}
		}
		if got := counted + r.used(word|closedBit, start, seed); got != issued || issued < 100 {
			t.Errorf("spread %d: counted %d, issued %d", spread, got, issued)
		}
	}
}
