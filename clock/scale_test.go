package clock

import (
	"math"
	"math/big"
	"testing"
)

const (
	milli = 1000
	// epoch2024 is 2024-01-01T00:00:00Z.
	epoch2024 = 1_704_067_200_000_000
)

// TestScale shows what [FuzzScale] compares with numbers without limits.
func TestScale(t *testing.T) {
	for _, tt := range []struct {
		scale               Scale
		micro, tick, micros int64 // a reading, its tick, and when that begins
	}{
		{Scale{0, milli}, 999, 0, 0},
		{Scale{0, milli}, 1000, 1, 1000},
		{Scale{0, milli}, -1, -1, -1000},
		{Scale{0, milli}, -1001, -2, -2000},
		{Scale{epoch2024, 10 * milli}, epoch2024 + 1_005_999, 100, epoch2024 + 1_000_000},
		{Scale{epoch2024, milli}, epoch2024 - 1, -1, epoch2024 - 1000},
		{Scale{0, milli}, math.MinInt64, math.MinInt64/milli - 1, math.MinInt64},
		{Scale{1, 1}, math.MinInt64, math.MinInt64, math.MinInt64 + 1}, // the distance does not fit
	} {
		tick := tt.scale.Tick(tt.micro)
		if begins := tt.scale.Micro(tick); tick != tt.tick || begins != tt.micros {
			t.Errorf("%+v: the tick of %d is %d, which begins at %d; want %d and %d",
				tt.scale, tt.micro, tick, begins, tt.tick, tt.micros)
		}
	}
	s := Scale{0, 10 * milli}
	for _, tt := range []struct{ micros, down, up int64 }{
		{0, 0, 0}, {9999, 0, 1}, {10000, 1, 1}, {10001, 1, 2},
	} {
		if down, up := s.TicksDown(tt.micros), s.TicksUp(tt.micros); down != tt.down || up != tt.up {
			t.Errorf("%d microseconds: %d whole ticks, covered by %d; want %d and %d",
				tt.micros, down, up, tt.down, tt.up)
		}
	}
}

// saturate is the int64 nearest to x.
func saturate(x *big.Int) int64 {
	switch {
	case x.IsInt64():
		return x.Int64()
	case x.Sign() < 0:
		return math.MinInt64
	}
	return math.MaxInt64
}

// FuzzScale compares the arithmetic with that of numbers without limits.
func FuzzScale(f *testing.F) {
	for _, v := range []int64{
		0, 1, -1, 999, epoch2024, epoch2024 - 1, 10_000, 10_001,
		math.MaxInt64, math.MaxInt64 / milli, math.MaxInt64/milli + 1,
		math.MinInt64, math.MinInt64 + 1, math.MinInt64 / milli, math.MinInt64/milli - 1,
	} {
		f.Add(int64(epoch2024), int64(milli), v)
		f.Add(int64(0), int64(1), v)
		f.Add(int64(1), int64(1), v)
		f.Add(int64(0), int64(milli), v)
		f.Add(int64(1_000_000), int64(10*milli), v)
		f.Add(int64(math.MaxInt64), int64(math.MaxInt64), v)
	}
	f.Fuzz(func(t *testing.T, epoch, unit, v int64) {
		if epoch < 0 || unit <= 0 {
			return
		}
		s := Scale{epoch, unit}
		bigEpoch, bigUnit, x := big.NewInt(epoch), big.NewInt(unit), big.NewInt(v)

		// A distance that does not fit is cut to one that does: so is its tick.
		d := big.NewInt(saturate(new(big.Int).Sub(x, bigEpoch)))
		if got, want := s.Tick(v), saturate(new(big.Int).Div(d, bigUnit)); got != want {
			t.Errorf("%+v: the tick of %d is %d; want %d", s, v, got, want)
		}
		begin := new(big.Int).Mul(x, bigUnit)
		begin.Add(begin, bigEpoch)
		if got, want := s.Micro(v), saturate(begin); got != want {
			t.Errorf("%+v: tick %d begins at %d; want %d", s, v, got, want)
		}
		if begin.IsInt64() && begin.Int64() >= math.MinInt64+epoch {
			if got := s.Tick(s.Micro(v)); got != v {
				t.Errorf("%+v: tick %d begins in tick %d", s, v, got)
			}
		}
		if v >= 0 {
			up, rest := new(big.Int).DivMod(x, bigUnit, new(big.Int))
			if got := s.TicksDown(v); got != up.Int64() {
				t.Errorf("%+v: %d microseconds have %d whole ticks; want %d", s, v, got, up)
			}
			up.Add(up, big.NewInt(int64(rest.Sign())))
			if got := s.TicksUp(v); got != up.Int64() {
				t.Errorf("%+v: %d microseconds are covered by %d ticks; want %d", s, v, got, up)
			}
		}
	})
}
