package kubernetes

import "testing"

// TestOver: a lease's end is judged by the API server's clock and the bound.
func TestOver(t *testing.T) {
	s := &store{skew: 1_000_000}
	for _, tc := range []struct {
		ends, now int64
		want      bool
	}{{10_000_000, 9_000_000, false}, {10_000_000, 10_999_999, false}, {10_000_000, 11_000_000, true}, {forever, forever, false}, {0, 1_000_000, true}} {
		if got := s.over(tc.ends, tc.now); got != tc.want {
			t.Errorf("a lease that ends at %d, at %d: over %t, want %t", tc.ends, tc.now, got, tc.want)
		}
	}
}
