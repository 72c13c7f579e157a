package sim

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/unalike-id/unalike/internal/lifetime"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/protocol/memstore"
)

// link is a store that is reached over a network which the scheduler plays.
type link struct {
	*memstore.Server
	p     *process
	clock *protocol.ServerClock // as answers tell the process
}

// Open implements protocol.Store.
func (l link) Open(token string, ttl time.Duration, workers int) (protocol.Session, error) {
	s, err := l.Server.Open(token, ttl, workers)
	return &linked{s, l.p, l.clock}, err
}

// linked is a session over a link.
type linked struct {
	protocol.Session
	p     *process
	clock *protocol.ServerClock
}

// Time implements protocol.Session.
func (l *linked) Time() protocol.Span { return l.clock.Time() }

// send has the network carry a request and its answer.
func send[T any](ctx context.Context, l *linked, what string,
	request func() (T, error),
) (answer T, err error) {
	var none T
	w, life, sent := l.p.w, l.p.lives(), lifetime.Now()
	a, ok := ctx.Value(actorKey{}).(*actor)
	if !ok {
		return none, errors.New("a request that belongs to no call")
	}
	executed := func() (T, error) {
		answer, err := request()
		w.noteEnd(answer)
		return answer, err
	}
	ghost := func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.ghosts = append(w.ghosts, func() { _, _ = executed() })
	}
	switch f, _, ok := w.park(ctx, a, what, false); {
	case !ok:
		return none, ctx.Err()
	case f == lost:
		return none, w.unheard(ctx, a)
	case f == delayed:
		ghost()
		return none, w.unheard(ctx, a)
	case f == repeated:
		ghost()
	}
	answer, err = executed()
	history := w.history
	f, dawdles, ok := w.park(ctx, a, what, true)
	switch {
	case !ok:
		return none, ctx.Err()
	case f == lost || f == delayed:
		return none, w.unheard(ctx, a)
	}
	if reading := readingOf(answer); err == nil && reading != (protocol.Span{}) {
		l.clock.Note(reading, sent)
	}
	w.pass(dawdles)
	if err == nil {
		l.p.hear(life, answer, history)
	}
	return answer, err
}

// readingOf returns what the server's clock said when it made an answer; zero: it does not tell.
func readingOf(answer any) (reading protocol.Span) {
	switch a := answer.(type) {
	case *protocol.Survey:
		reading = a.Server
	case *protocol.View:
		reading = a.Server
	case *protocol.Listing:
		reading = a.Server
	case protocol.Outcome:
		reading = a.Server
	}
	return reading
}

// noteEnd takes note of where a window ends that was stored, which may be lost before anybody
// knows.
func (w *world) noteEnd(answer any) {
	out, ok := answer.(protocol.Outcome)
	w.mu.Lock()
	defer w.mu.Unlock()
	if ok && out.Now != nil {
		w.reached = max(w.reached, out.Now.Slot.Record.NotAfter)
	}
}

// errUnheard is the error of a call that was given up.
var errUnheard = errors.New("nothing was heard")

// unheard waits until the call of an actor ends whose request or answer is lost, or is given up.
func (w *world) unheard(ctx context.Context, a *actor) error {
	p := &parcel{from: a, lane: laneOf(ctx), fate: make(chan fate)}
	w.mu.Lock()
	w.lost = append(w.lost, p)
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.lost = slices.DeleteFunc(w.lost, func(q *parcel) bool { return p == q })
	}()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-p.fate:
		return errUnheard
	}
}

// giveUp has all calls given up whose requests or answers are lost: one at a time, so that a seed
// repeats.
func (w *world) giveUp() {
	w.wait()
	w.mu.Lock()
	lost := slices.Clone(w.lost)
	w.mu.Unlock()
	slices.SortFunc(lost, byLane)
	for _, p := range lost {
		close(p.fate)
		w.wait()
	}
}

// byLane compares parcels by the calls that they belong to.
func byLane(a, b *parcel) int {
	return cmp.Or(cmp.Compare(a.from.id, b.from.id), cmp.Compare(a.lane, b.lane),
		cmp.Compare(a.n, b.n))
}

// actorKey and laneKey are the keys of who makes a call, and of its lane, in a context.
type (
	actorKey struct{}
	laneKey  struct{}
)

// laneOf is the lane of a call.
func laneOf(ctx context.Context) int {
	lane, _ := ctx.Value(laneKey{}).(int)
	return lane
}

// park waits until the scheduler has decided what becomes of a parcel, and for how long an answer
// waits in the process before the call goes on; false: ctx has ended before.
func (w *world) park(ctx context.Context, a *actor, what string,
	answer bool,
) (_ fate, dawdles time.Duration, ok bool) {
	lane := laneOf(ctx)
	w.mu.Lock()
	p := &parcel{
		from: a, lane: lane, n: a.parcels[lane], what: what, answer: answer,
		fate: make(chan fate, 1),
	}
	a.parcels[lane]++
	w.parked = append(w.parked, p)
	w.mu.Unlock()
	select {
	case f := <-p.fate:
		return f, p.dawdles, true
	case <-ctx.Done():
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.parked = slices.DeleteFunc(w.parked, func(q *parcel) bool { return p == q })
	return lost, 0, false
}

func (l *linked) Survey(ctx context.Context, ask protocol.Ask) (*protocol.Survey, error) {
	return send(ctx, l, "survey", func() (*protocol.Survey, error) {
		return l.Session.Survey(ctx, ask)
	})
}

func (l *linked) Look(ctx context.Context, worker int, token string) (*protocol.View, error) {
	return send(ctx, l, "look", func() (*protocol.View, error) {
		return l.Session.Look(ctx, worker, token)
	})
}

func (l *linked) Probe(ctx context.Context, ids []int) ([]protocol.Probe, error) {
	return send(ctx, l, "probe", func() ([]protocol.Probe, error) { return l.Session.Probe(ctx, ids) })
}

func (l *linked) List(ctx context.Context, slots bool) (*protocol.Listing, error) {
	return send(ctx, l, "list", func() (*protocol.Listing, error) {
		return l.Session.List(ctx, slots)
	})
}

func (l *linked) Commit(ctx context.Context, c protocol.Change) (protocol.Outcome, error) {
	return send(ctx, l, "commit", func() (protocol.Outcome, error) { return l.Session.Commit(ctx, c) })
}
