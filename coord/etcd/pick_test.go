package etcd

import (
	"slices"
	"testing"
)

func TestSpread(t *testing.T) {
	for length, want := range map[int][]int{0: {}, 2: {0, 1}, 9: {0, 1, 2, 3, 4, 5, 6, 7, 8}, 900: {0, 100, 200, 300, 400, 500, 600, 700, 800}} {
		if got := spread(length, 9); !slices.Equal(got, want) {
			t.Errorf("9 of %d: %v; want %v", length, got, want)
		}
	}
}
