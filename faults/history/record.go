package history

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/faults/journal"
)

// Record returns a coordinator that does what c does, and appends the begin and the end of
// each call that changes something to the file path, which must not exist. When the file
// cannot be written, the calls from then on fail and do not reach c. Calls after Close are not
// recorded.
//
// The result has the optional interfaces of package coord: Notifier and Describer,
// which say nothing where c has none; Resumer, which returns an error that wraps
// [coord.ErrInvalid] where c has none; and Admin if c has it. Closing it closes c and the file.
func Record(c coord.Coordinator, path string) (coord.Coordinator, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o644) //nolint:gosec // other users may read a report
	if err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	r := &recorder{c: c, file: f}
	if a, ok := c.(coord.Admin); ok {
		return administrator{recorder: r, a: a}, nil
	}
	return r, nil
}

// recorder is a coordinator that records.
type recorder struct {
	c coord.Coordinator

	mu    sync.Mutex
	file  *os.File
	calls int64
	err   error // of the first write that failed
}

// write appends a line with one system call, so that nothing of it is left in the process.
// It expects the lock.
func (r *recorder) write(l line) error {
	if r.err != nil {
		return r.err
	}
	text, err := json.Marshal(l)
	if err == nil {
		_, err = r.file.Write(append(text, '\n'))
	}
	if err != nil && !errors.Is(err, os.ErrClosed) {
		r.err = fmt.Errorf("history: %w", err)
	}
	return r.err
}

// record makes a call, whose begin is l, and records it. The call returns a grant, or nil
// if it has none.
func (r *recorder) record(l line, do func() (*grant, error)) error {
	r.mu.Lock()
	r.calls++
	l.Call, l.At = r.calls, journal.Now()
	err := r.write(l)
	r.mu.Unlock()
	if err != nil {
		return err
	}
	g, err := do()
	end := line{Call: l.Call, At: journal.Now(), Grant: g, Lost: errors.Is(err, coord.ErrLeaseLost)}
	if err != nil {
		end.Error, end.Grant = err.Error(), nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.write(end) // a call without an end is one of unknown outcome, and the next one fails
	return err
}

// Acquire implements [coord.Coordinator].
func (r *recorder) Acquire(ctx context.Context, req coord.Request) (g coord.Grant, err error) {
	l := line{Op: opAcquire, Token: req.Token, Workers: &req.Workers, LastTick: req.LastTick, Until: req.Until}
	err = r.record(l, func() (*grant, error) {
		g, err = r.c.Acquire(ctx, req)
		return grantOf(g), err
	})
	return g, err
}

// Renew implements [coord.Coordinator].
func (r *recorder) Renew(ctx context.Context, g coord.Grant, until int64) (out coord.Grant, err error) {
	err = r.record(line{Op: opRenew, Grant: grantOf(g), Until: until}, func() (*grant, error) {
		out, err = r.c.Renew(ctx, g, until)
		return grantOf(out), err
	})
	return out, err
}

// Release implements [coord.Coordinator].
func (r *recorder) Release(ctx context.Context, g coord.Grant, last int64) error {
	return r.record(line{Op: opRelease, Grant: grantOf(g), Last: last}, func() (*grant, error) {
		return nil, r.c.Release(ctx, g, last)
	})
}

// Close implements [coord.Coordinator].
func (r *recorder) Close() error {
	err := r.c.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	if closing := r.file.Close(); closing != nil && !errors.Is(closing, os.ErrClosed) {
		err = errors.Join(err, closing)
	}
	return err
}

// Resume implements [coord.Resumer].
func (r *recorder) Resume(ctx context.Context, g coord.Grant, token string, until int64) (out coord.Grant, err error) {
	resumer, ok := r.c.(coord.Resumer)
	if !ok {
		return out, fmt.Errorf("%w: %T cannot resume grants", coord.ErrInvalid, r.c)
	}
	err = r.record(line{Op: opResume, Grant: grantOf(g), Token: token, Until: until}, func() (*grant, error) {
		out, err = resumer.Resume(ctx, g, token, until)
		return grantOf(out), err
	})
	return out, err
}

// Lost implements [coord.Notifier].
func (r *recorder) Lost(g coord.Grant) <-chan struct{} {
	if n, ok := r.c.(coord.Notifier); ok {
		return n.Lost(g)
	}
	return nil // it is never closed
}

// Describe implements [coord.Describer].
func (r *recorder) Describe() coord.Description { return coord.Describe(r.c) }

// administrator is a recorder of such a coordinator.
type administrator struct {
	*recorder
	a coord.Admin
}

// List implements [coord.Admin].
func (r administrator) List(ctx context.Context) ([]coord.Slot, error) { return r.a.List(ctx) }

// Inspect implements [coord.Admin].
func (r administrator) Inspect(ctx context.Context) (coord.Namespace, error) { return r.a.Inspect(ctx) }

// Init implements [coord.Admin].
func (r administrator) Init(ctx context.Context, s coord.Space) error { return r.a.Init(ctx, s) }

// Quarantine implements [coord.Admin].
func (r administrator) Quarantine(ctx context.Context, until time.Time) (time.Time, error) {
	return r.a.Quarantine(ctx, until)
}

// Retire implements [coord.Admin].
func (r administrator) Retire(ctx context.Context, workerID int) error {
	return r.record(line{Op: opRetire, Worker: workerID}, func() (*grant, error) {
		return nil, r.a.Retire(ctx, workerID)
	})
}

// Lower implements [coord.Admin].
func (r administrator) Lower(ctx context.Context) (time.Time, error) { return r.a.Lower(ctx) }
