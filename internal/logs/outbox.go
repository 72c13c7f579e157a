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
	// maxQueued is how many records wait for a handler that does not return, beside those of the
	// batch that it is called for.
	maxQueued = 256
	// maxPosted is the number of waiting records from which Post waits for the handler, too.
	maxPosted = 32
	// Records that no caller waits for are written when there are batchSize of them, or after
	// batchDelay: a handler that is called many times in a row takes a third of the time.
	batchSize  = maxPosted / 2
	batchDelay = 5 * time.Millisecond
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
	emptied []record // a batch that was written, for the records that come next
	writing bool     // a goroutine is in write
	waiting bool     // a timer will call writePosted
	overdue bool     // a caller has waited in vain since that goroutine began
	dropped int
}

// record is a call of a handler that is still to be made.
type record struct {
	ctx     context.Context
	to      slog.Handler
	is      slog.Record
	written chan struct{} // nil: no caller waits
}

// Post has h handle a record. If h is that of a logger that [Or] returned, Post returns before the
// record is written, unless many records are waiting. The caller must not change the record. Before
// the process ends, [Flush] writes it.
func Post(ctx context.Context, h slog.Handler, r slog.Record) {
	o, ok := h.(outbox)
	if !ok {
		_ = h.Handle(ctx, r) // there is no caller to tell
		return
	}
	o.send(record{ctx: ctx, to: o.to, is: r}, maxPosted)
}

// Flush waits until all records that were posted are written, but no longer than a log call.
func Flush(l *slog.Logger) {
	if o, ok := l.Handler().(outbox); ok {
		o.send(record{to: slog.DiscardHandler}, 0)
	}
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
	o.send(record{ctx: ctx, to: o.to, is: r.Clone()}, 0)
	return nil
}

// send queues a record. If at least waitFrom records are waiting, it waits until the record is
// written, but no longer than grace.
func (q *queue) send(e record, waitFrom int) {
	written := q.add(e, waitFrom)
	if written == nil {
		return
	}
	t := time.NewTimer(grace)
	defer t.Stop()
	select {
	case <-written:
	case <-t.C:
		q.mu.Lock()
		q.overdue = q.writing
		q.mu.Unlock()
	}
}

// add queues a record, and returns what its caller is to wait for; nil: nothing.
func (q *queue) add(e record, waitFrom int) (written chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.records) >= maxQueued {
		q.dropped++
		return nil
	}
	if len(q.records) >= waitFrom && !q.overdue {
		e.written = make(chan struct{})
	}
	q.records = append(q.records, e)
	if e.written != nil || len(q.records) >= batchSize {
		q.begin()
	} else if !q.writing && !q.waiting {
		q.waiting = true
		time.AfterFunc(batchDelay, q.writePosted)
	}
	return e.written
}

// writePosted writes the records that no caller waits for.
func (q *queue) writePosted() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = false
	q.begin()
}

// begin has the records written. The lock is held.
func (q *queue) begin() {
	if !q.writing {
		q.writing = true
		go q.write()
	}
}

// write calls the handlers until no record is left.
func (q *queue) write() {
	for {
		q.mu.Lock()
		batch, dropped := q.records, q.dropped
		if len(batch) == 0 {
			q.writing, q.overdue = false, false
			q.mu.Unlock()
			return
		}
		q.records, q.emptied, q.dropped = q.emptied, nil, 0
		q.mu.Unlock()
		for i := range batch {
			batch[i].write(dropped)
			dropped = 0
		}
		clear(batch)
		q.mu.Lock()
		q.emptied = batch[:0]
		q.mu.Unlock()
	}
}

// write calls the handler, and then tells it how many records were dropped.
func (e *record) write(dropped int) {
	_ = e.to.Handle(e.ctx, e.is)
	if e.written != nil {
		close(e.written)
	}
	if dropped > 0 {
		r := slog.NewRecord(e.is.Time, slog.LevelWarn,
			"the log handler is too slow, records were dropped", 0)
		r.AddAttrs(slog.Int("records", dropped))
		_ = e.to.Handle(e.ctx, r)
	}
}
