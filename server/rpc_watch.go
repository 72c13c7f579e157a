package server

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/unalike-id/unalike/internal/admission"
	unalikev1 "github.com/unalike-id/unalike/proto/unalike/v1"
)

const (
	// watchEvery is how often a generator that is watched is looked at.
	watchEvery = 250 * time.Millisecond
	// shortestInterval and usualInterval are between two messages about a generator that stays as it
	// is.
	shortestInterval, usualInterval = time.Second, 10 * time.Second
	// longestInterval is for how long a watcher who is not there any more may have a stream.
	longestInterval = 24 * time.Hour
	// sendTime bounds how long a watcher may take to read a message.
	sendTime = 15 * time.Second
)

// look is what many watchers see of a state: one of them looks, and the others have it from there.
type look[T any] struct {
	at func() T

	mu    sync.Mutex
	when  time.Time
	state T
}

// get returns a state that is hardly older than the time between two looks.
func (l *look[T]) get() T {
	now := time.Now() //nolint:forbidigo // when to look is no matter of IDs
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.when) >= watchEvery/2 {
		l.state, l.when = l.at(), now
	}
	return l.state
}

// Watch implements unalike.v1.IDService.
func (r rpc) Watch(ctx context.Context, req *unalikev1.WatchRequest,
	stream *connect.ServerStream[unalikev1.WatchResponse],
) error {
	g, err := r.served(req.GetGenerator())
	if err != nil {
		return err
	}
	interval := usualInterval
	if req.GetInterval() != nil {
		interval = req.GetInterval().AsDuration()
	}
	if interval < shortestInterval || interval > longestInterval {
		return problemf(http.StatusBadRequest, "interval is a duration from %v to %.0f hours",
			shortestInterval, longestInterval.Hours())
	}
	return tell(ctx, r.Server, interval, g.state.get, changed, stream.Send)
}

// tell sends a state at once, at every change and every interval, which shows whether anybody is
// there, until ctx ends, the connection is old, or the server stops. A connection has a bound on
// such streams.
func tell[T any](ctx context.Context, s *Server, interval time.Duration, state func() T,
	changed func(a, b T) bool, send func(T) error,
) error {
	r := requestOf(ctx)
	//mutant:health-streams
	leave, err := s.watches.enter(connectionOf(r.Request), s.cfg.MaxWatches)
	if err != nil {
		return err
	}
	defer leave()
	control, conn := http.NewResponseController(&r.answer), admission.Of(ctx)
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
		if conn.Old() { //mutant:stream-age
			return later("this connection is old; connect again")
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

// extend gives a stream time until the message after the next one, where it outlives the times that
// a server has for a whole reply.
func extend(control *http.ResponseController, d time.Duration) error {
	end := time.Now().Add(d) //nolint:forbidigo // connections have the machine's time
	return errors.Join(control.SetReadDeadline(end), control.SetWriteDeadline(end))
}

// stateOf tells how a generator is.
func stateOf(g source) *unalikev1.WatchResponse {
	h := g.Health()
	state := &unalikev1.WatchResponse{
		Ready: h.Healthy, Issued: h.Issued,
		WindowLeft: durationpb.New(h.WindowLeft),
	}
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
	return a.GetReady() != b.GetReady() || !sameWords(a.GetReason(), b.GetReason()) ||
		!slices.Equal(a.GetWorkerIds(), b.GetWorkerIds())
}
