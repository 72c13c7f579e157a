package sim

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"

	"github.com/unalike-id/unalike/internal/protocol"
)

// seen is what a process has seen of the back end, and by what it notices a loss.
type seen struct {
	history int // of the world
	number  int64
	lineage string
	foreign bool // it was written in a back end with another lineage
	meta    protocol.Entry[protocol.Meta]
}

// seenIn returns what an answer shows; false: nothing.
func seenIn(answer any, history int) (seen, bool) {
	s := seen{history: history}
	see := func(p protocol.Position, meta protocol.Entry[protocol.Meta]) {
		s.number, s.lineage, s.meta = p.Number, p.Lineage, meta
	}
	switch a := answer.(type) {
	case *protocol.Survey:
		see(a.Position, a.Meta)
		s.foreign = a.Origin != "" && a.Origin != a.Lineage
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

// shows reports whether an answer shows to who has seen s that writes were lost.
func (s seen) shows(now seen) bool {
	if s.number == 0 || now.foreign {
		return now.foreign
	}
	a, b := s.meta, now.meta
	return now.number < s.number || now.lineage != s.lineage ||
		a.There() && (!b.There() || a.Made != b.Made || a.Version > b.Version || a.Version == b.Version && !bytes.Equal(a.Raw, b.Raw) || a.Record.Base > b.Record.Base)
}

// age is how many coordinators a process has had, how many losses it has dealt with, and
// how often an answer has shown it one.
func (p *process) age() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ages()
}

// ages is age for who holds mu.
func (p *process) ages() int { return p.life + p.eras + p.proofs }

// hear takes note of an answer, which a coordinator of the process has got. What was asked
// for before the process has dealt with a loss, or was shown one, says nothing.
func (p *process) hear(age int, answer any, history int) {
	now, ok := seenIn(answer, history)
	p.mu.Lock()
	defer p.mu.Unlock()
	if !ok || age != p.ages() {
		return
	}
	p.last = now
	if p.seen.shows(now) {
		p.proofs++
	}
	p.seen = now
}

// dealt notes that the process has dealt with a loss.
func (p *process) dealt(life int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if life == p.life {
		p.seen = p.last
		p.eras++
	}
}

// sight is what the process has seen.
func (p *process) sight() seen {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen
}

// answered is the history of the last answer.
func (p *process) answered() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last.history
}

// knows reports whether a process has seen something of the present history, and will
// notice for that reason that the back end has none of it.
func (p *process) knows(history int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen.history == history && p.seen.number > 0
}

// journal is the log of a coordinator, which says when a loss was dealt with.
type journal struct {
	p    *process
	life int
}

func (j journal) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelWarn }
func (j journal) WithAttrs([]slog.Attr) slog.Handler           { return j }
func (j journal) WithGroup(string) slog.Handler                { return j }

func (j journal) Handle(_ context.Context, r slog.Record) error {
	if protocolLoss[r.Message] {
		j.p.dealt(j.life)
	}
	what := fmt.Sprintf("log of process %d: %s", j.p.id, r.Message)
	r.Attrs(func(a slog.Attr) bool { what += ", " + a.String(); return true })
	j.p.w.say(what)
	return nil
}

// protocolLoss are the messages that end a loss for who writes them.
var protocolLoss = map[string]bool{
	"the memory had lost writes; the floor was raised for that already":                                                    true,
	"the memory has lost writes; nothing is granted until the windows that may be lost with them are over":                 true,
	"the namespace was gone; it is made again, and nothing is granted until the windows that may be lost with it are over": true,
}
