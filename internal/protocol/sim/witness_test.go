package sim

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/unalike-id/unalike/internal/protocol"
)

// seen is what a process has seen of the back end, and by what it notices a loss.
type seen struct {
	history int // of the world
	number  int64
	meta    protocol.Entry[protocol.Meta]
}

// seenIn returns what an answer shows; false: nothing.
func seenIn(answer any, history int) (seen, bool) {
	s := seen{history: history}
	see := func(p protocol.Position, meta protocol.Entry[protocol.Meta]) {
		s.number, s.meta = p.Number, meta
	}
	switch a := answer.(type) {
	case *protocol.Survey:
		see(a.Position, a.Meta)
	case *protocol.View:
		see(a.Position, a.Meta)
	case *protocol.Listing:
		see(a.Position, a.Meta)
	case protocol.Outcome:
		if a.Now == nil {
			return s, false
		}
		see(a.Position, a.Now.Meta)
	default:
		return s, false
	}
	return s, true
}

// lives is how many coordinators a process has had.
func (p *process) lives() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.life
}

// hear takes note of an answer, which a coordinator of the process has got. What was asked
// for before a loss and answered after it is no news.
func (p *process) hear(life int, answer any, history int) {
	now, ok := seenIn(answer, history)
	p.mu.Lock()
	defer p.mu.Unlock()
	if !ok || life != p.life || history < p.seen.history {
		return
	}
	if history == p.seen.history {
		now.number = max(now.number, p.seen.number)
		now.meta.Record.Base = max(now.meta.Record.Base, p.seen.meta.Record.Base)
	}
	p.seen = now
}

// observe is what the process has seen.
func (p *process) observe() seen {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen
}

// knows reports whether a process has seen something of the present history, and will
// notice for that reason that the back end has none of it.
func (p *process) knows(history int) bool {
	s := p.observe()
	return s.history == history && s.number > 0
}

// journal is the log of a coordinator.
type journal struct{ p *process }

func (j journal) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelWarn }
func (j journal) WithAttrs([]slog.Attr) slog.Handler           { return j }
func (j journal) WithGroup(string) slog.Handler                { return j }

func (j journal) Handle(_ context.Context, r slog.Record) error {
	what := fmt.Sprintf("log of process %d: %s", j.p.id, r.Message)
	r.Attrs(func(a slog.Attr) bool { what += ", " + a.String(); return true })
	j.p.w.say(what)
	return nil
}
