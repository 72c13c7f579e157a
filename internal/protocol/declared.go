package protocol

import (
	"cmp"
	"fmt"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/lifetime"
)

// A namespace may be declared with a longer horizon than its driver has. How far ahead a
// window can reach is then up to what is stored, and, as that can be lost, to what is
// remembered of it.

// Horizon is how far ahead a window of the namespace can reach, if none of other namespaces
// that it may have taken the place of was longer than maxHorizon.
func (m Meta) Horizon(maxHorizon time.Duration) time.Duration {
	return max(maxHorizon, time.Duration(m.MaxHorizon)*time.Millisecond)
}

// declared returns the record with a longest horizon, in milliseconds, unless it has a
// longer one.
func (m Meta) declared(horizon int64) Meta {
	if horizon <= m.MaxHorizon {
		return m
	}
	m.MaxHorizon = horizon
	m.Version, m.MinReader = max(m.Version, DeclaredVersion), max(m.MinReader, DeclaredVersion)
	return m
}

// limits are those of a driver, with the longest horizon that is remembered. What is stored
// may be longer: see [Meta.Horizon].
func (m observation) limits(driver Limits) Limits {
	driver.Horizon = m.meta.Horizon(driver.Horizon)
	return driver
}

// limits are those that this process knows of.
func (c *Coordinator) limits() Limits { return c.detector.observation().limits(c.detector.limits) }

// checkDeclared refuses a request for a window that is longer than the namespace allows.
// What is remembered of another one counts for floors, not for this.
func (c *Coordinator) checkDeclared(req coord.Request, meta Entry[Meta]) error {
	ahead, further := lifetime.Ahead(req, meta.Record.Horizon(c.set.MaxHorizon))
	if !further {
		return nil
	}
	return c.undeclared(ahead, meta)
}

// undeclared is the error of a window that is to reach further ahead than the namespace
// allows.
func (c *Coordinator) undeclared(ahead time.Duration, meta Entry[Meta]) error {
	longest := time.Duration(0)
	if meta.There() {
		longest = meta.Record.Horizon(c.set.MaxHorizon)
	}
	return lifetime.Undeclared(ahead, longest, fmt.Sprintf("namespace %q", c.set.Namespace))
}

// clockStep is how much further than the namespace allows the window of a renewal may reach
// because two clocks differ, or one was set back after the caller read it. It is cut then.
const clockStep = time.Minute

// windowLimit is the tick until which the namespace allows windows now, by a clock. A store that
// forgets refuses what ends later in the step that writes.
func (c *Coordinator) windowLimit(meta Meta, now int64) int64 {
	l := c.detector.limits
	if c.set.Forgets {
		l.Skew = 0
	}
	return meta.WindowLimit(now, l)
}

// clamped is the tick until which a window that is to reach another one is to: not further
// than any right clock can want it. That is told by the back end's clock, by the least that it can
// say: floors are for windows that end no later, and a store that forgets refuses others. Where it
// has none, this coordinator's tells as long as the caller's is near it: it may have another one.
func (c *Coordinator) clamped(s Session, meta Meta, until int64) int64 {
	server := s.Time().Low //mutant:clamped-low
	windowLimit := c.windowLimit(meta, cmp.Or(server, c.now()))
	if server == 0 && until > windowLimit+meta.Scale().TicksUp(clockStep.Microseconds()) {
		return until
	}
	return min(until, windowLimit)
}

// checkResumed refuses to resume a grant with a window that is longer than the namespace
// allows, by more than clocks explain. Who renews has been granted one that is as long, or
// has resumed it.
func (r *renewal) checkResumed() error {
	meta, now := r.v.Meta.Record, max(r.now(), r.s.Time().High) // which refuses less
	if r.token == r.g.Token || r.until <= r.windowLimit(meta, now)+
		meta.Scale().TicksUp(clockStep.Microseconds()) {
		return nil
	}
	ahead := time.Duration(meta.Scale().Micro(r.until)-now) * time.Microsecond
	return r.undeclared(ahead.Round(time.Second), r.v.Meta)
}
