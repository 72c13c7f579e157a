package redis

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/internal/testserver/redistest"
)

// TestArithmetic: what the scripts make of a time is what Go makes of it.
func TestArithmetic(t *testing.T) {
	client := redistest.Start(t, redistest.Options{}).Client(t)
	compute := newScript(preamble, `
local scale, micros = {epoch = tonumber(ARGV[3]), unit = tonumber(ARGV[4])}, tonumber(ARGV[5])
return {stamp(micros), int(tick(scale, micros)), int(ticks(scale, micros))}`)
	random := rand.New(rand.NewPCG(3, 4))
	units := []int64{1000, 1000, 10_000, 1_000_000, 3000, 86_400_000_000}
	days := []time.Time{
		time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2000, 2, 29, 23, 59, 59, 999_999_000, time.UTC),
		time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC), time.Date(2024, 12, 31, 23, 59, 59, 0, time.UTC),
		time.Date(2026, 3, 1, 0, 0, 0, 1000, time.UTC), time.Date(2100, 2, 28, 12, 0, 0, 0, time.UTC),
		time.Date(2100, 3, 1, 0, 0, 0, 0, time.UTC), time.Date(2255, 1, 1, 0, 0, 0, 0, time.UTC),
	}
	for i := range 500 {
		at := random.Int64N(1 << 53)
		if i < len(days) {
			at = days[i].UnixMicro()
		}
		scale := clock.Scale{Epoch: random.Int64N(1<<51) / 1000 * 1000, Unit: units[i%len(units)]}
		if i%7 == 0 {
			at = min(scale.Micro(random.Int64N(1<<40)), 1<<53-1) // the first moment of a tick
		}
		got, err := compute.Run(t.Context(), client, []string{"{ns}:slots"}, 0, 0, scale.Epoch, scale.Unit, at).StringSlice()
		want := []string{time.UnixMicro(at).UTC().Format("2006-01-02T15:04:05.000000Z"), fmt.Sprint(scale.Tick(at)), fmt.Sprint(scale.TicksUp(at))}
		if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%d microseconds, epoch %d, unit %d: %v, %v; want %v", at, scale.Epoch, scale.Unit, got, err, want)
		}
	}
}
