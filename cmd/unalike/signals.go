package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
)

// signalled is the cause of a context that a signal ended.
type signalled struct{ signal os.Signal }

func (s signalled) Error() string { return "stopped by signal: " + s.signal.String() }

// exitCode is what a shell reports for a process that the signal ended.
func (s signalled) exitCode() int {
	if n, ok := s.signal.(syscall.Signal); ok {
		return 128 + int(n)
	}
	return exitFailure
}

// untilSignal returns a context that ends at the first interrupt or request to
// terminate, with a [signalled] cause. The second one ends the process in the usual
// way, in case tidying up is stuck.
func untilSignal(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	ch := make(chan os.Signal, 1)
	signal.Notify(ch, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		select {
		case s := <-ch:
			signal.Stop(ch)
			cancel(signalled{s})
		case <-done:
		}
	}()
	return ctx, func() {
		signal.Stop(ch)
		close(done)
		cancel(context.Canceled)
	}
}

// causeOf returns the signal that ended ctx, if one did.
func causeOf(ctx context.Context) (s signalled, ok bool) {
	ok = errors.As(context.Cause(ctx), &s)
	return s, ok
}

// untilStopped runs f with a context that ends at a signal, and returns that as the
// error of a run that it ended.
func untilStopped(parent context.Context, f func(context.Context) error) error {
	ctx, stop := untilSignal(parent)
	defer stop()
	err := f(ctx)
	if s, ok := causeOf(ctx); ok && errors.Is(err, context.Canceled) {
		return s
	}
	return err
}
