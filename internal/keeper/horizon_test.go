package keeper

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
)

func TestHorizonTicks(t *testing.T) {
	const s = time.Second
	for _, tt := range []struct {
		max, horizon, unit time.Duration
		want               int64
		err                string
	}{
		{0, 30 * s, time.Millisecond, 30_000, ""},
		{0, 30*s - 1, 10 * time.Millisecond, 2999, ""},
		{30 * s, 30 * s, 10 * s, 3, ""},
		{30 * s, 30 * s, 11 * s, 0, `Horizon is 30s, which makes 3 ticks of 11s; at most 30s is `},
		{0, 30 * s, 8 * time.Hour, 3, ""},
	} {
		got, err := HorizonTicks(coord.LeaseRules{MaxHorizon: tt.max},
			coord.LeaseConfig{Horizon: tt.horizon}, clock.Scale{Unit: tt.unit.Microseconds()})
		if tt.err != "" {
			if !errors.Is(err, coord.ErrInvalid) || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%v in ticks of %v: %v; want %s", tt.horizon, tt.unit, err, tt.err)
			}
		} else if got != tt.want || err != nil {
			t.Errorf("%v in ticks of %v: %d, %v; want %d", tt.horizon, tt.unit, got, err, tt.want)
		}
	}
}
