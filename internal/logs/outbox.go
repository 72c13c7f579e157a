package logs

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

const (
	// grace is how long a log call waits for the handler, so that a healthy one has written
	// a record before the call returns.
	grace = 100 * time.Millisecond
	// maxQueued is how many records wait for a handler that does not return.
	maxQueued = 256
)

// outbox is a handler that calls another one from a goroutine of its own, one record after
// the other. So a handler may call back or block: whoever logs waits for it no longer than
// grace, also under a lock, and not at all while it is known to be late.
type outbox struct {
	to slog.Handler
	*queue
}

// queue holds what an outbox and those made of it have still to write.
type queue struct {
	mu      sync.Mutex
	records []record
	writing bool // a goroutine is in write
	overdue bool // a caller has waited in vain since that goroutine began
	dropped int
}

// record is a call of a handler that is still to be made.
type record struct {
	ctx     context.Context
	to      slog.Handler
	is      slog.Record
	written chan struct{}
}

// Enabled implements [slog.Handler].
func (o outbox) Enabled(ctx context.Context, l slog.Level) bool { return o.to.Enabled(ctx, l) }

// WithAttrs implements [slog.Handler].
func (o outbox) WithAttrs(attrs []slog.Attr) slog.Handler {
	return outbox{o.to.WithAttrs(attrs), o.queue}
}

// WithGroup implements [slog.Handler].
func (o outbox) WithGroup(name string) slog.Handler { return outbox{o.to.WithGroup(name), o.queue} }

// Handle implements [slog.Handler]. It drops the record if too many are waiting.
func (o outbox) Handle(ctx context.Context, r slog.Record) error {
	e := record{ctx, o.to, r.Clone(), make(chan struct{})}
	if o.add(e) {
		return nil
	}
	t := time.NewTimer(grace)
	defer t.Stop()
	select {
	case <-e.written:
	case <-t.C:
		o.mu.Lock()
		o.overdue = o.writing
		o.mu.Unlock()
	}
	return nil
}

// add queues a record, and reports whether nobody is to wait for it.
func (q *queue) add(e record) (overdue bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.records) >= maxQueued {
		q.dropped++
		return true
	}
	q.records = append(q.records, e)
	if !q.writing {
		q.writing = true
		go q.write()
	}
	return q.overdue
}

// write calls the handlers until no record is left.
func (q *queue) write() {
	for {
		q.mu.Lock()
		if len(q.records) == 0 {
			q.writing, q.overdue = false, false
			q.mu.Unlock()
			return
		}
		e, dropped := q.records[0], q.dropped
		q.records, q.dropped = q.records[1:], 0
		q.mu.Unlock()
		_ = e.to.Handle(e.ctx, e.is)
		close(e.written)
		if dropped > 0 {
			r := slog.NewRecord(e.is.Time, slog.LevelWarn,
				"the log handler is too slow, records were dropped", 0)
			r.AddAttrs(slog.Int("records", dropped))
			_ = e.to.Handle(e.ctx, r)
		}
	}
}
