package etcd

import (
	"context"
	"errors"
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
		repeat   bool
		requests []func(context.Context) error // the first, the second, and so on
		sent     int
		took     time.Duration
		want     error
	}{
		{"at once", true, []func(context.Context) error{slow(0, nil)}, 1, 0, nil},
		{
			"slow, but within the time", true,
			[]func(context.Context) error{
				slow(2900*time.Millisecond, nil), hangs,
				hangs,
			},
			3, 2900 * time.Millisecond, nil,
		},
		{
			"slow, and the next one slower", false,
			[]func(context.Context) error{
				slow(1500*time.Millisecond, nil),
				hangs,
			},
			2, 1500 * time.Millisecond, nil,
		},
		{
			"a member that hangs", false,
			[]func(context.Context) error{
				hangs,
				slow(10*time.Millisecond, nil),
			},
			2, 1010 * time.Millisecond, nil,
		},
		{
			"two members that hang", true,
			[]func(context.Context) error{
				hangs, hangs,
				slow(10*time.Millisecond, nil),
			},
			3, 2010 * time.Millisecond, nil,
		},
		{
			"all hang", true,
			[]func(context.Context) error{hangs, hangs, hangs},
			3, limit,
			context.DeadlineExceeded,
		},
		{
			"fails for the moment", true,
			[]func(context.Context) error{slow(0, errBusyNow), slow(0, nil)},
			2, 0, nil,
		},
		{
			"fails for the moment, and is not to be repeated", false,
			[]func(context.Context) error{slow(0, errBusyNow)},
			1, 0, errBusyNow,
		},
		{
			"fails while another is under way", false,
			[]func(context.Context) error{
				slow(1500*time.Millisecond, errBusyNow),
				slow(900*time.Millisecond, nil),
			},
			2, 1900 * time.Millisecond, nil,
		},
		{"fails for good", true, []func(context.Context) error{slow(0, wrong)}, 1, 0, wrong},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), limit)
				defer cancel()
				next := make(chan int, tries)
				for n := range tries {
					next <- min(n, len(tc.requests)-1) // a further one does as the last
				}
				began := time.Now()
				n, sent, err := ask(ctx, new(pace), tc.repeat, func(ctx context.Context) (int, error) {
					n := <-next
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
		_, sent, err := ask(t.Context(), new(pace), true, func(ctx context.Context) (int, error) {
			<-ctx.Done()
			return 0, ctx.Err()
		})
		if took := time.Since(began); took != longestCall || sent != tries ||
			!errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%d requests, %v, %v", sent, took, err)
		}
	})
}

// TestPace: a cluster that has answered late is asked again later; when it is fast again,
// sooner.
func TestPace(t *testing.T) {
	p := new(pace)
	const left = 3 * time.Second
	if got := p.delay(left); got != time.Second {
		t.Errorf("a cluster of which nothing is known is asked again after %v", got)
	}
	p.took(1500 * time.Millisecond)
	if got := p.delay(left); got != 2*time.Second {
		t.Errorf("a cluster that takes 1.5s is asked again after %v", got)
	}
	for range 20 {
		p.took(time.Millisecond)
	}
	if got := p.delay(left); got != time.Second {
		t.Errorf("a cluster that is fast again is asked again after %v", got)
	}
}

// TestAskSlowCluster: requests that all stay without an answer make the next ones
// patient.
func TestAskSlowCluster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := new(pace)
		for _, want := range []int{tries, 2} {
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			_, sent, _ := ask(ctx, p, true, func(ctx context.Context) (int, error) {
				<-ctx.Done()
				return 0, ctx.Err()
			})
			if cancel(); sent > want {
				t.Errorf("%d requests; want %d", sent, want)
			}
		}
	})
}
