package core

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/unalike-id/unalike/clock"
)

// Health is a snapshot of a generator. Reading one takes a lock and allocates; it
// is meant for probes, metrics and logs, not for every ID.
type Health struct {
	// Closed reports that Close was called: that there are no IDs is no outage then.
	Closed bool
	// Healthy tells whether the generator can issue an ID now, if need be after
	// waiting for the next tick.
	Healthy bool
	// Err is why it cannot; nil if Healthy. With several worker IDs it can as long as
	// one of them can.
	Err error
	// Workers has one entry for each worker ID, in the order of the stripes.
	Workers []WorkerHealth
	// LastRenewal is the oldest of the workers' last successful renewals.
	LastRenewal time.Time
	// WindowLeft is for how long IDs can be issued without a further renewal by the
	// coordinator, the shortest of the workers'; 0 if a window has ended.
	WindowLeft time.Duration
	// Lead is how far the last ID is ahead of the clock, the largest of the workers';
	// 0 if none is.
	Lead time.Duration
	// Issued is how many IDs were issued since New. It never decreases, and it is
	// exact while no call is under way.
	Issued uint64
	// Errors counts the errors returned, by kind: each call that failed counts once. A
	// call that waited until its context ended counts as what it waited for.
	Errors ErrorCounts
	// Rollbacks counts how often the clock was found to have stepped back by more
	// than the tolerance. One step counts once for each worker ID that met it.
	Rollbacks uint64
	// Warnings are standing remarks of the coordinator on what it cannot protect
	// from, as it is configured.
	Warnings []string
}

// WorkerHealth is the part of [Health] that concerns one worker ID.
type WorkerHealth struct {
	WorkerID    int // -1: none was leased yet
	Generation  uint64
	Since       time.Time     // when this process got it
	LastRenewal time.Time     // the last renewal that succeeded, or the acquisition
	WindowLeft  time.Duration // until the end of its window; 0 if it has ended
	Lead        time.Duration // how far its last ID is ahead of the clock
	Err         error         // why it cannot issue; nil if it can
	Failing     error         // why its window does not grow at the moment; nil if it does
	// StateFile reports that the window is kept in a state file. WindowLeft, LastRenewal and
	// Failing are then about the window that the coordinator has granted, and MarkLeft is
	// until the high-water mark that is stored in the file: IDs are issued below it, and it
	// is moved ahead as long as the file can be written and the window lasts. 0 if the clock
	// has passed it.
	StateFile bool
	MarkLeft  time.Duration
}

// ErrorCounts counts the errors that a generator returned, by kind.
type ErrorCounts struct {
	NotStarted    uint64 `json:"not_started"`
	ClockRollback uint64 `json:"clock_rollback"`
	// by TryNext, or a context that ended meanwhile
	SequenceExhausted uint64 `json:"sequence_exhausted"`
	WindowNotOpen     uint64 `json:"window_not_open"`
	WindowEnded       uint64 `json:"window_ended"`
	TimeExhausted     uint64 `json:"time_exhausted"`
	Closed            uint64 `json:"closed"`
	// ContextEnded counts the calls whose context had ended before they began.
	ContextEnded uint64 `json:"context_ended"`
}

// reported is what Health said last, so that it never goes back.
type reported struct {
	mu     sync.Mutex
	issued uint64
}

// String returns the state of the generator in one line, for a person.
func (g *Generator) String() string {
	h := g.Health()
	var ids []string
	for _, w := range h.Workers {
		if w.WorkerID >= 0 {
			ids = append(ids, strconv.Itoa(w.WorkerID))
		}
	}
	s := "unalike generator, no worker ID"
	if len(ids) > 0 {
		s = "unalike generator, worker ID " + strings.Join(ids, ", ")
	}
	s += fmt.Sprintf(", IDs issued: %d", h.Issued)
	if h.Err != nil {
		s += ", not ready: " + h.Err.Error()
	}
	return s
}

// Health returns a snapshot of the generator. It does not block on anything but
// short locks, and never on the coordinator.
func (g *Generator) Health() Health {
	h := Health{
		Issued:    g.issued(g.current),
		Rollbacks: g.rollbacks.Load(),
		Warnings:  slices.Clone(g.warnings),
		Errors: ErrorCounts{
			NotStarted:        g.refused[notStarted].Load(),
			ClockRollback:     g.refused[rollback].Load(),
			SequenceExhausted: g.refused[wait].Load(),
			WindowNotOpen:     g.refused[notOpen].Load(),
			WindowEnded:       g.refused[ended].Load(),
			TimeExhausted:     g.refused[exhausted].Load(),
			Closed:            g.refused[closed].Load(),
			ContextEnded:      g.refused[called].Load(),
		},
	}
	_, h.Err = g.anyAble()
	h.Closed = errors.Is(h.Err, ErrClosed)
	h.Healthy = h.Err == nil
	for i, st := range g.stripes {
		w := st.health()
		h.Workers = append(h.Workers, w)
		if i == 0 || w.WindowLeft < h.WindowLeft {
			h.WindowLeft = w.WindowLeft
		}
		if i == 0 || w.LastRenewal.Before(h.LastRenewal) {
			h.LastRenewal = w.LastRenewal
		}
		h.Lead = max(h.Lead, w.Lead)
	}
	return h
}

// health describes one worker ID.
func (s *stripe) health() WorkerHealth {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.term.Load()
	now := clock.Fresh(s.g.clock)
	left := func(tick int64) time.Duration {
		micros := min(max(s.g.scale.Micro(tick)-now, 0), math.MaxInt64/int64(time.Microsecond))
		return time.Duration(micros) * time.Microsecond
	}
	last, stamped := s.Last()
	mark := t.notAfter.Load()
	w := WorkerHealth{
		WorkerID:   t.workerID,
		Generation: t.generation,
		Since:      t.began,
		WindowLeft: left(mark + 1),
		Err:        s.able(),
		Failing:    s.failing,
	}
	w.LastRenewal = s.renewed
	if long := s.keeper.Window(); long != nil && t.workerID != noWorker {
		w.StateFile, w.LastRenewal = true, long.Renewed
		w.MarkLeft, w.WindowLeft = w.WindowLeft, left(max(long.NotAfter, mark)+1)
		if w.Failing == nil {
			w.Failing = long.Failing
		}
	}
	if stamped {
		w.Lead = left(last)
	}
	if t.state.Load()&closedBit != 0 {
		w.WindowLeft, w.MarkLeft = 0, 0 // no more of it will be used
	}
	return w
}

// issued counts the IDs: those of the ticks that were left, and those of the ticks in
// use, which current counts. The former are read first: a tick that is left in between
// is missed, which the maximum makes up for, and none is counted twice.
func (g *Generator) issued(current func() uint64) uint64 {
	g.reported.mu.Lock()
	defer g.reported.mu.Unlock()
	left := g.counted.Load()
	g.reported.issued = max(g.reported.issued, left+current())
	return g.reported.issued
}

// current counts the IDs of the ticks in use.
func (g *Generator) current() (n uint64) {
	for _, st := range g.stripes {
		t := st.term.Load()
		if word := t.state.Load(); word&closedBit == 0 {
			n += g.rule.used(word, t.start, t.seed)
		}
	}
	return n
}
