package core

import (
	"slices"
	"sync"
)

// observer calls OnChange when the generator's health changes, from a goroutine of
// its own: a callback that blocks holds up neither callers nor renewals.
type observer struct {
	g        *Generator
	onChange func(Health)
	quit     chan struct{}
	once     sync.Once
	seen     []condition
}

// condition is what makes a change of health worth a call.
type condition struct {
	worker  int
	able    bool
	why     verdict
	closing bool
}

func (o *observer) init(g *Generator, onChange func(Health)) {
	o.g, o.onChange, o.quit = g, onChange, make(chan struct{})
}

// start begins to observe; the condition at this moment is the one that changes
// are told against.
func (o *observer) start() {
	if o.onChange == nil {
		return
	}
	o.seen = o.conditions()
	go o.run()
}

// stop ends the observation after a last look. It does not wait for a callback
// that is under way, because that may be the caller.
func (o *observer) stop() {
	o.once.Do(func() {
		if o.quit != nil {
			close(o.quit)
		}
	})
}

func (o *observer) run() {
	for {
		changed := o.g.changed.wait()
		if now := o.conditions(); !slices.Equal(now, o.seen) {
			// What is told may be newer than what was seen, and is not to be told again.
			if h := o.g.Health(); slices.Equal(now, o.conditions()) {
				o.seen = now
				o.onChange(h)
			}
			continue
		}
		select {
		case <-changed:
		case <-o.quit:
			if now := o.conditions(); !slices.Equal(now, o.seen) {
				o.onChange(o.g.Health())
			}
			return
		}
	}
}

// conditions looks at every stripe. Close is one change, however many worker IDs there
// are and whatever they lacked before.
func (o *observer) conditions() []condition {
	if o.g.closing.Load() {
		return []condition{{worker: noWorker, why: closed, closing: true}}
	}
	all := make([]condition, len(o.g.stripes))
	for i, st := range o.g.stripes {
		v := st.look().verdict
		c := condition{worker: st.term.Load().workerID, able: v == issue || v == wait}
		if !c.able {
			c.why = v
		}
		all[i] = c
	}
	return all
}
