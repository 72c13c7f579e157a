package etcd

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// errBusyNow is an error that may be gone with the next try.
var errBusyNow = status.Error(codes.Unavailable, "no leader")

// TestAsk: how often a request is made, and when there is an answer.
func TestAsk(t *testing.T) {
	const limit = 3 * time.Second
	type requests []func(context.Context) error
	slow := func(d time.Duration, err error) func(context.Context) error {
		return func(ctx context.Context) error {
			select {
			case <-time.After(d):
				return err
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	hangs := slow(time.Hour, nil)
	wrong := errors.New("refused")
	for _, tc := range []struct {
		name     string
		members  int
		repeat   bool
		requests requests // the last stands for further ones
		sent     int
		took     time.Duration
		want     error
	}{
		{"at once", 3, true, requests{slow(0, nil)}, 1, 0, nil},
		{
			"slow, but within the time", 3, true,
			requests{slow(2900*time.Millisecond, nil), hangs},
			3, 2900 * time.Millisecond, nil,
		},
		{
			"slow, and one member", 1, true,
			requests{slow(2900*time.Millisecond, nil)},
			1, 2900 * time.Millisecond, nil,
		},
		{
			"a member that hangs", 2, false,
			requests{hangs, slow(10*time.Millisecond, nil)},
			2, 1510 * time.Millisecond, nil,
		},
		{
			"twice a member that hangs", 3, false,
			requests{hangs, hangs, slow(10*time.Millisecond, nil)},
			3, 2260 * time.Millisecond, nil,
		},
		{"all hang", 3, true, requests{hangs}, 3, limit, context.DeadlineExceeded},
		{"the only member hangs", 1, true, requests{hangs}, 1, limit, context.DeadlineExceeded},
		{"fails for the moment", 2, true, requests{slow(0, errBusyNow), slow(0, nil)}, 2, 0, nil},
		{
			"fails for the moment, and one member", 1, true,
			requests{slow(0, errBusyNow)},
			1, 0, errBusyNow,
		},
		{"fails for the moment", 3, true, requests{slow(0, errBusyNow)}, 3, 0, errBusyNow},
		{
			"fails for the moment, and is not to be repeated", 2, false,
			requests{slow(0, errBusyNow)},
			1, 0, errBusyNow,
		},
		{
			"fails while another is under way", 2, false,
			requests{slow(1600*time.Millisecond, errBusyNow), slow(900*time.Millisecond, nil)},
			2, 2400 * time.Millisecond, nil,
		},
		{"fails for good", 2, true, requests{slow(0, wrong)}, 1, 0, wrong},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), limit)
				defer cancel()
				var made atomic.Int32
				began := time.Now()
				n, sent, err := ask(ctx, tc.members, tc.repeat, func(ctx context.Context) (int, error) {
					n := min(int(made.Add(1)), len(tc.requests)) - 1
					return n, tc.requests[n](ctx)
				})
				if took := time.Since(began); sent != tc.sent || took != tc.took || !errors.Is(err, tc.want) {
					t.Errorf("%d requests, %v, %v; want %d, %v, %v", sent, took, err, tc.sent, tc.took, tc.want)
				}
				if err == nil && tc.requests[n](context.Background()) != nil {
					t.Errorf("the answer is that of request %d", n)
				}
			})
		})
	}
}

// TestAskWithoutDeadline: a call that may take for ever does not.
func TestAskWithoutDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		_, _, err := ask(t.Context(), 1, true, func(ctx context.Context) (int, error) {
			<-ctx.Done()
			return 0, ctx.Err()
		})
		if took := time.Since(began); took != longestCall ||
			!errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v, %v", took, err)
		}
	})
}
