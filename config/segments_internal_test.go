package config

import (
	"errors"
	"testing"

	"github.com/unalike-id/unalike/segment"
)

// TestTogether: of two that have numbers, the health is that of the one with fewer, and it tells
// what is wrong with the other one.
func TestTogether(t *testing.T) {
	away := errors.New("away")
	many := segment.Health{Healthy: true, Failing: away, Left: 9, Refills: 1}
	few := segment.Health{Healthy: true, Left: 3, Refills: 1}
	for _, h := range []segment.Health{together(many, few), together(few, many)} {
		if !h.Healthy || !errors.Is(h.Failing, away) || h.Left != 3 || h.Refills != 2 {
			t.Errorf("%+v", h)
		}
	}
}
