package protocol

import (
	"fmt"
	"sync"
	"time"
)

const (
	// stepTime is how long a step of a clock ahead must last until the clock is believed.
	stepTime = 5 * time.Second
	// readingTime is the longest that two readings may be apart that are compared.
	readingTime = 50 * time.Millisecond
	// readings is how often a comparison is tried. A process may be stopped between two readings.
	readings = 5
)

// witness compares this machine's clock with its uptime, which nobody sets. A clock that is a year
// ahead for a second would have windows stored that shut worker IDs for a year. A machine that was
// suspended passes, because the uptime counts that time.
type witness struct {
	uptime func() time.Duration // nil: the clock may run at its own rate
	bound  time.Duration        // the skew bound

	mu     sync.Mutex
	offset int64         // of the clock, in microseconds, as it was believed last
	known  bool          // the offset is
	since  time.Duration // the uptime when the present step ahead was noticed; 0: there is none
	far    time.Duration // the uptime when a caller's clock was found far ahead; 0: it is not
}

// lasts reports whether a caller's clock is believed, which is far ahead of this one or not. Its
// reading may be from before the clock was set right.
func (w *witness) lasts(far bool) bool {
	if w.uptime == nil {
		return true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !far {
		w.far = 0
		return true
	}
	up := w.uptime()
	if w.far == 0 {
		w.far = up
	}
	return up-w.far >= stepTime //mutant:witness-caller
}

// ahead returns by how much a clock has stepped ahead that is not believed yet; 0: it is believed.
// First reports whether that is news.
func (w *witness) ahead(clock func() int64) (step time.Duration, first bool) {
	if w.uptime == nil {
		return 0, false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	now, up, ok := w.read(clock)
	if !ok {
		return 0, false
	}
	offset := now - up.Microseconds()
	step = time.Duration(offset-w.offset) * time.Microsecond
	if w.known && step > w.bound { //mutant:witness
		first = w.since == 0
		if first {
			w.since = up
		}
		if up-w.since < stepTime {
			return step, first
		}
	}
	w.offset = offset
	w.known = true
	w.since = 0
	return 0, false
}

// read reads the clock and the uptime at the same moment, as far as can be had.
func (w *witness) read(clock func() int64) (now int64, up time.Duration, ok bool) {
	for range readings {
		before := w.uptime()
		now = clock()
		up = w.uptime()
		if up-before <= readingTime {
			return now, up, true
		}
	}
	return 0, 0, false
}

// stepped returns by how much this machine's clock has stepped ahead, if that is not believed yet.
// Where the back end has a clock, that bounds the windows, and this machine's does no harm.
func (c *Coordinator) stepped() time.Duration {
	if c.set.ServerClock {
		return 0
	}
	step, first := c.witness.ahead(c.now)
	if first {
		c.log.Warn("the clock stepped ahead: no window grows until that has lasted for a while",
			"namespace", c.set.Namespace, "step", step.Round(time.Millisecond), "for", stepTime)
	}
	return step
}

// believes reports whether a window may grow until a tick: neither this machine's clock nor the
// caller's is just far ahead.
func (c *Coordinator) believes(meta Meta, until int64) bool {
	if c.set.ServerClock {
		return true
	}
	limit := meta.WindowLimit(c.now(), c.limits()) + meta.Scale().TicksUp(clockStep.Microseconds())
	return c.witness.lasts(until > limit) && c.stepped() == 0
}

// awaitClock returns an error while a step ahead of this machine's clock is not believed.
func (c *Coordinator) awaitClock() error {
	step := c.stepped()
	if step == 0 {
		return nil
	}
	return fmt.Errorf("this machine's clock stepped ahead by %v; waiting until that has lasted for %v",
		step.Round(time.Millisecond), stepTime)
}
