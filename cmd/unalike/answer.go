package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/logs"
)

const (
	// answerTime is how long an operator waits for the answer to one call.
	answerTime = 15 * time.Second
	// quietTime is how long nothing is said about what is being waited for.
	quietTime = logs.Quiet
)

// waits are how long things may take. Tests have their own.
type waits struct{ answer, quiet, dial time.Duration }

// caller makes an operator's calls to a back end. None takes for ever, and somebody who
// waits is told what for. The drivers' calls have no end of their own.
type caller struct {
	waits
	tell func() // says what is being waited for
}

// ask makes a call. If it may change something, the error when no answer comes in time
// says what that means.
func (k *caller) ask(ctx context.Context, changes bool, call func(context.Context) error) error {
	bounded, cancel := context.WithTimeout(ctx, k.answer)
	defer cancel()
	told := make(chan struct{})
	timer := time.AfterFunc(k.quiet, func() { defer close(told); k.tell() })
	err := call(bounded)
	if !timer.Stop() {
		<-told
	}
	overdue := bounded.Err() != nil || timedOut(err)
	if err == nil || ctx.Err() != nil || !overdue || !changes || errors.Is(err, coord.ErrInvalid) {
		return err
	}
	return fmt.Errorf("%w; the outcome is unknown, and asking again is safe", err)
}

// timedOut reports whether err is a deadline that passed: of a context, or of a
// connection, which a client may set to the same time and see first.
func timedOut(err error) bool {
	timeout, ok := errors.AsType[net.Error](err)
	return errors.Is(err, context.DeadlineExceeded) || ok && timeout.Timeout()
}

// answer makes a call that returns something.
func answer[T any](ctx context.Context, k *caller, changes bool,
	call func(context.Context) (T, error),
) (v T, err error) {
	err = k.ask(ctx, changes, func(ctx context.Context) (err error) {
		v, err = call(ctx)
		return err
	})
	return v, err
}

// opened opens a coordinator or a store for an operator, with the caller of further calls.
func opened[T io.Closer](ctx context.Context, a *app, p place, check func() error,
	open func(context.Context, *slog.Logger) (T, error),
) (v T, k *caller, err error) {
	if err := a.awaitPresence(ctx, p, check); err != nil {
		return v, nil, err
	}
	k = &caller{waits: a.waits, tell: func() {
		a.complain("unalike: still waiting for %s, at most %v ...\n", p, a.answer)
	}}
	v, err = answer(ctx, k, false, func(ctx context.Context) (T, error) {
		return open(ctx, a.logger())
	})
	return v, k, err
}

// askedAdmin is a coordinator that can be shown and changed, with the calls of a caller, also those
// of follow.Namespace.
type askedAdmin struct {
	coord.AdminCoordinator
	caller *caller
}

// List implements [coord.AdminCoordinator].
func (a askedAdmin) List(ctx context.Context) ([]coord.Slot, error) {
	return answer(ctx, a.caller, false, a.AdminCoordinator.List)
}

// Inspect implements [coord.AdminCoordinator].
func (a askedAdmin) Inspect(ctx context.Context) (coord.Namespace, error) {
	return answer(ctx, a.caller, false, a.AdminCoordinator.Inspect)
}

// Init implements [coord.AdminCoordinator].
func (a askedAdmin) Init(ctx context.Context, s coord.Space) error {
	return a.caller.ask(ctx, true, func(ctx context.Context) error {
		return a.AdminCoordinator.Init(ctx, s)
	})
}

// Quarantine implements [coord.AdminCoordinator].
func (a askedAdmin) Quarantine(ctx context.Context, until time.Time) (time.Time, error) {
	return answer(ctx, a.caller, true, func(ctx context.Context) (time.Time, error) {
		return a.AdminCoordinator.Quarantine(ctx, until)
	})
}

// Retire implements [coord.AdminCoordinator].
func (a askedAdmin) Retire(ctx context.Context, workerID int) error {
	return a.caller.ask(ctx, true, func(ctx context.Context) error {
		return a.AdminCoordinator.Retire(ctx, workerID)
	})
}

// Lower implements [coord.AdminCoordinator].
func (a askedAdmin) Lower(ctx context.Context) (time.Time, error) {
	return answer(ctx, a.caller, true, a.AdminCoordinator.Lower)
}
