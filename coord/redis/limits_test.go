package redis_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/coord/redis"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/testserver/redistest"
)

// TestCoordinator_AtItsLimits: with names, windows and holders at the limits, all calls work.
func TestCoordinator_AtItsLimits(t *testing.T) {
	t.Parallel()
	client, ns := redistest.Start(t, redistest.Options{}).Client(t), drivertest.LongName()
	l := drivertest.Limits{Workers: drivertest.Most(redis.MaxShare)}
	l.Open = func(tb testing.TB) drivertest.Operator {
		tb.Helper()
		return newCoordinator(tb, client, ns)
	}
	l.Occupy = func(tb testing.TB, like func(string, int) string) {
		tb.Helper()
		first, err := client.HGetAll(within(tb), redis.KeyOf(ns)).Result()
		if err != nil {
			tb.Fatal(err)
		}
		const page, digits = 16, 16 // as in step.lua
		var all []any
		for field, value := range first {
			for id := 1; id < l.Workers; id++ {
				switch {
				case field == "0":
					all = append(all, strconv.Itoa(id), like(value, id))
				case strings.HasPrefix(field, "l:") && id%page == 1:
					all = append(all, "l:"+strconv.Itoa(id/page), strings.Repeat(value[:digits], page))
				case strings.HasPrefix(field, "t:"), strings.HasPrefix(field, "h:"):
					all = append(all, like(field, id), id)
				}
			}
		}
		drivertest.InParts(tb, all, 1000, func(part []any) error {
			return client.HSet(within(tb), redis.KeyOf(ns), part...).Err()
		})
		lease := client.Get(within(tb), redis.LeaseOf(ns, 0)).Val()
		pipe := client.Pipeline()
		for id := 1; id < l.Workers; id++ {
			pipe.Set(within(tb), redis.LeaseOf(ns, id), lease, drivertest.CrowdTTL)
		}
		if _, err := pipe.Exec(within(tb)); err != nil {
			tb.Fatal(err)
		}
	}
	l.Run(t)
}

// TestGenerator_AllStripesHeavy: a generator with 1,024 stripes starts and renews each worker ID.
func TestGenerator_AllStripesHeavy(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t, redistest.Options{}).Client(t)
	drivertest.Stripes(t, newCoordinator(t, client, "ns"), nil)
}
