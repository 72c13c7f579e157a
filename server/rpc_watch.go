package server

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/durationpb"

	unalikev1 "github.com/unalike-id/unalike/proto/unalike/v1"
	"github.com/unalike-id/unalike/proto/unalike/v1/unalikev1connect"
)

const (
	// watchEvery is how often a generator that is watched is looked at.
	watchEvery = 250 * time.Millisecond
	// shortestInterval and usualInterval are between two messages about a generator that stays as it is.
	shortestInterval, usualInterval = time.Second, 10 * time.Second
	// longestInterval is for how long a watcher who is not there any more may have a stream.
	longestInterval = 24 * time.Hour
	// sendTime bounds how long a watcher may take to read a message.
	sendTime = 15 * time.Second
	// maxWatches is how many streams there may be at a time.
	maxWatches = 1000
)

// deadlineKey is the key of the control over the deadlines of a stream.
type deadlineKey struct{}

// withDeadline lets a stream outlive the times that a server has for a whole reply.
func withDeadline(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		h.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), deadlineKey{}, control)))
	})
}

// Watch implements unalike.v1.IDService.
func (r rpc) Watch(ctx context.Context, req *unalikev1.WatchRequest, stream *connect.ServerStream[unalikev1.WatchResponse]) error {
	if err := r.watch(ctx, req, stream); err != nil {
		return r.failRPC(ctx, unalikev1connect.IDServiceWatchProcedure, err)
	}
	return nil
}

func (r rpc) watch(ctx context.Context, req *unalikev1.WatchRequest, stream *connect.ServerStream[unalikev1.WatchResponse]) error {
	g, _, err := r.served(req.GetGenerator())
	if err != nil {
		return err
	}
	interval := usualInterval
	if req.GetInterval() != nil {
		if interval = req.GetInterval().AsDuration(); req.GetInterval().CheckValid() != nil || interval < shortestInterval || interval > longestInterval {
			return problemf(http.StatusBadRequest, "interval is a duration from %v to %.0f hours", shortestInterval, longestInterval.Hours())
		}
	}
	leave, err := enter(&r.watches)
	if err != nil {
		return err
	}
	defer leave()
	return tell(ctx, r.Server, interval, func() *unalikev1.WatchResponse { return stateOf(g) }, changed, stream.Send)
}

// enter counts a stream that begins, and refuses one that is too many. Whoever has entered leaves.
func enter(streams *atomic.Int32) (leave func(), err error) {
	leave = func() { streams.Add(-1) }
	if streams.Add(1) > maxWatches {
		leave()
		return nil, problemf(http.StatusTooManyRequests, "%d streams are under way, and no more are allowed", maxWatches)
	}
	return leave, nil
}

// tell sends a state at once, at every change and every interval, which shows whether anybody is there, until ctx ends or
// the server stops.
func tell[T any](ctx context.Context, s *Server, interval time.Duration, state func() T, changed func(a, b T) bool, send func(T) error) error {
	control, _ := ctx.Value(deadlineKey{}).(*http.ResponseController)
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	var last T
	passed, stopping := interval, false // so that the first one is due
	for {
		if now := state(); passed >= interval || changed(last, now) {
			if err := extend(control, interval+sendTime); err != nil {
				return err
			}
			if err := send(now); err != nil {
				return ctx.Err() // nobody reads it any more
			}
			last, passed = now, 0
		}
		if stopping {
			return problemf(http.StatusServiceUnavailable, "stopping")
		}
		select {
		case <-tick.C:
			passed += watchEvery
		case <-ctx.Done():
			return ctx.Err()
		case <-s.stopping:
			stopping = true // which may be a change
		}
	}
}

// extend gives a stream time until the message after the next one.
func extend(control *http.ResponseController, d time.Duration) error {
	if control == nil {
		return nil
	}
	end := time.Now().Add(d) //nolint:forbidigo // connections have the machine's time
	return errors.Join(control.SetReadDeadline(end), control.SetWriteDeadline(end))
}

// stateOf tells how a generator is.
func stateOf(g Generator) *unalikev1.WatchResponse {
	h := g.Health()
	state := &unalikev1.WatchResponse{Ready: h.Healthy, Issued: h.Issued, WindowLeft: durationpb.New(h.WindowLeft)}
	if h.Err != nil {
		state.Reason = h.Err.Error()
	}
	for _, w := range h.Workers {
		if w.WorkerID >= 0 {
			state.WorkerIds = append(state.WorkerIds, uint32(w.WorkerID))
		}
	}
	return state
}

// changed reports whether a watcher should know at once.
func changed(a, b *unalikev1.WatchResponse) bool {
	return a.Ready != b.Ready || a.Reason != b.Reason || !slices.Equal(a.WorkerIds, b.WorkerIds)
}
