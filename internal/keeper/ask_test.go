package keeper_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/internal/keeper"
)

// After an outage in which nothing was answered, however long it was, service is back within a
// renewal interval and a second: for who holds a worker ID, and for who asks for one.
func TestBackWithinAnInterval(t *testing.T) {
	for _, ttl := range []time.Duration{
		3 * time.Second, 15 * time.Second, time.Minute,
		10 * time.Minute,
	} {
		for _, held := range []bool{true, false} {
			t.Run(fmt.Sprintf("TTL %v, held %t", ttl, held), func(t *testing.T) {
				t.Parallel()
				bubble(t, func(t *testing.T) {
					for n := range 40 {
						r := newRig(t, 1, lease(ttl, 30*time.Second))
						if held {
							r.start()
						}
						r.fake.Outage(true)
						if !held {
							r.Begin()
						}
						pass(31*time.Second + time.Duration(n*n)*317*time.Millisecond)
						r.fake.Outage(false)
						r.stamps(min(ttl, 30*time.Second)/3 + time.Second)
						_ = r.close(t.Context())
					}
				})
			})
		}
	}
}

// The first answer counts, a call that fails does not hide what the one beside it has reached,
// and never are more than two under way.
func TestAskTakesTheFirstAnswer(t *testing.T) {
	const every, ttl, never = 2 * time.Second, 30 * time.Second, time.Hour
	type calls struct {
		first, second time.Duration // how long the answers take
		fails         bool          // the second one
		want          int           // which answer
		took          time.Duration
		lates         int
	}
	each(t, map[string]calls{
		"slow": {
			first: 10 * time.Second, second: never, want: 1, took: 10 * time.Second,
			lates: 1,
		},
		"lost":          {first: never, second: 1, want: 2, took: every, lates: 1},
		"lost, fails":   {first: never, second: 1, fails: true, took: every, lates: 1},
		"nothing comes": {first: never, second: never, fails: true, took: time.Minute, lates: 2},
	}, func(t *testing.T, c calls) {
		var mu sync.Mutex
		var n, underWay, most, lates int
		d, began := keeper.RenewDeadline(every, ttl), time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		got, err := keeper.Ask(ctx, &d, func(error) { lates++ }, func(ctx context.Context) (int, error) {
			mu.Lock()
			n, underWay = n+1, underWay+1
			most = max(most, underWay)
			me, takes := n, c.second
			mu.Unlock()
			defer func() {
				mu.Lock()
				underWay--
				mu.Unlock()
			}()
			if me == 1 {
				takes = c.first
			}
			switch {
			case !pause(ctx, takes):
				return 0, context.Cause(ctx)
			case me > 1 && c.fails:
				return 0, coordtest.ErrUnreachable
			}
			return me, nil
		})
		took := time.Since(began)
		if got != c.want || (err != nil) != c.fails || took > c.took+time.Millisecond {
			t.Errorf("answer %d, %v after %v, want %d after %v", got, err, took, c.want, c.took)
		}
		if lates < c.lates || underWay != 0 || most != 2 {
			t.Errorf("%d of %d calls were late; %d are left, %d were under way together", lates, n, underWay,
				most)
		}
	})
}
