package keeper_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/internal/keeper"
)

// After an outage in which nothing was answered, however long it was, service is back within a
// renewal interval and a second: for who holds a worker ID, and for who asks for one.
func TestBackWithinAnInterval(t *testing.T) {
	for _, ttl := range []time.Duration{3 * time.Second, 15 * time.Second, time.Minute, 10 * time.Minute} {
		for _, held := range []bool{true, false} {
			t.Run(fmt.Sprintf("TTL %v, held %t", ttl, held), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					every := min(ttl, 30*time.Second) / 3
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
						within(t, every+time.Second, "IDs", r.gate.stamp)
						_ = r.close(t.Context())
					}
				})
			})
		}
	}
}

// The first answer counts, and a call that fails does not hide what the one beside it has reached.
func TestAskTakesTheFirstAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const every, ttl = 2 * time.Second, 30 * time.Second
		for _, tt := range []struct {
			first, second time.Duration // how long the answers take; 0: none
			fails         bool          // the second one
			want          int
			took          time.Duration
		}{
			{first: 10 * time.Second, want: 1, took: 10 * time.Second},
			{second: time.Millisecond, want: 2, took: every},
			{first: 6 * time.Second, second: time.Millisecond, want: 2, took: every},
			{second: time.Millisecond, fails: true, took: every},
		} {
			var calls atomic.Int32
			d, lates, began := keeper.RenewDeadline(every, ttl), 0, time.Now()
			got, err := keeper.Ask(t.Context(), &d, func(error) { lates++ }, func(ctx context.Context) (int, error) {
				n, takes := int(calls.Add(1)), tt.first
				if n > 1 {
					takes = tt.second
				}
				if takes == 0 {
					<-ctx.Done()
					return 0, context.Cause(ctx)
				}
				select {
				case <-time.After(takes):
				case <-ctx.Done():
					return 0, context.Cause(ctx)
				}
				if n > 1 && tt.fails {
					return 0, coordtest.ErrUnreachable
				}
				return n, nil
			})
			if took := time.Since(began); got != tt.want || (err != nil) != tt.fails || took > tt.took+time.Millisecond || calls.Load() > 1 && lates < int(calls.Load())-1 {
				t.Errorf("%+v: answer %d, %v after %v and %d calls, of which %d were late", tt, got, err, took, calls.Load(), lates)
			}
		}
		d := keeper.RenewDeadline(every, ttl)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var underWay, most atomic.Int32
		_, err := keeper.Ask(ctx, &d, nil, func(ctx context.Context) (coord.Grant, error) {
			if n := underWay.Add(1); n > most.Load() {
				most.Store(n)
			}
			defer underWay.Add(-1)
			<-ctx.Done()
			return coord.Grant{}, context.Cause(ctx)
		})
		if err == nil || underWay.Load() != 0 || most.Load() != 2 {
			t.Errorf("nothing was answered: %v, %d calls are left, and %d were under way together", err, underWay.Load(), most.Load())
		}
	})
}
