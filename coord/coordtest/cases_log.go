package coordtest

import (
	"context"
	"log"
	"log/slog"
	"sync"

	"github.com/unalike-id/unalike/coord"
)

// logCases are about the handler of a log, to which coordinators without a logger of their own
// warn: it may block, or call the coordinator and wait for that.
var logCases = []testCase{
	{"LogHandlerBlocks", 0, func(s *suite) {
		free := make(chan struct{})
		s.logTo(func() { <-free })
		s.Cleanup(func() { close(free) }) // before the log is as it was: that waits for its writers
		p := s.client(2)
		s.live(p, s.acquire(p))
	}},
}

// live loses g if that can be, renews it, and goes on without it. Each call must return,
// whatever the log handler does.
func (s *suite) live(p party, g coord.Grant) {
	s.Helper()
	if s.h.Expire != nil {
		s.h.Expire(s.TB, g)
	}
	s.returns("Renew", func(ctx context.Context) { _, _ = p.Renew(ctx, g, s.now+2*s.horizon) })
	req := s.request(p)
	s.returns("Acquire", func(ctx context.Context) { g, _ = p.Acquire(ctx, req) })
	if g.Token == req.Token {
		s.returns("Release", func(ctx context.Context) { _ = p.Release(ctx, g, g.NotBefore) })
	}
	s.returns("Close", func(context.Context) { _ = p.Close() })
}

// returns calls f, which must return in time.
func (s *suite) returns(what string, f func(context.Context)) {
	s.Helper()
	ctx, done := s.ctx(), make(chan struct{})
	go func() {
		defer close(done)
		f(ctx)
	}()
	select {
	case <-done:
	case <-ctx.Done():
		s.Fatalf("%s does not return while a log handler is called", what)
	}
}

// changedLog is held by the case that has changed the process's default log.
var changedLog sync.Mutex

// logTo makes a handler that calls f for each record the default one, until the case ends. Package
// log, which clients use and whose callers wait for one another, is left as it is.
func (s *suite) logTo(f func()) {
	changedLog.Lock()
	before, out, flags := slog.Default(), log.Writer(), log.Flags()
	set := func(l *slog.Logger) {
		slog.SetDefault(l)
		log.SetOutput(out)
		log.SetFlags(flags)
	}
	set(slog.New(calling{slog.DiscardHandler, f}))
	s.Cleanup(func() {
		set(before)
		changedLog.Unlock()
	})
}

// calling is a handler that calls a function for each record.
type calling struct {
	slog.Handler
	call func()
}

func (calling) Enabled(context.Context, slog.Level) bool        { return true }
func (c calling) WithAttrs([]slog.Attr) slog.Handler            { return c }
func (c calling) WithGroup(string) slog.Handler                 { return c }
func (c calling) Handle(_ context.Context, _ slog.Record) error { c.call(); return nil }
