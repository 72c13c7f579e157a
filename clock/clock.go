package clock

import (
	"math"
	"time"
)

// Clock reports wall-clock time.
type Clock interface {
	// UnixMicro returns the wall-clock time in microseconds since
	// 1970-01-01T00:00:00Z. It must not block and must be safe for concurrent
	// use. It may go backward: callers cope with that. A clock that returns a
	// cached reading must also implement [Fresher].
	UnixMicro() int64
}

// Fresher is implemented by clocks whose UnixMicro may return a stale reading.
// Every wait and every refusal is decided on a fresh reading, so that a stale
// one never costs more than one extra call.
type Fresher interface {
	// FreshUnixMicro is UnixMicro without the cache. It must not block and must
	// be safe for concurrent use.
	FreshUnixMicro() int64
}

// Alarmer is implemented by clocks whose time does not pass together with the
// machine's timers: clocks for tests, mostly. For all other clocks, waiting is
// done with ordinary timers.
type Alarmer interface {
	// Alarm returns a channel that is closed no later than when the clock reads
	// unixMicro or more, and whenever it is stepped: whoever waits then reads the
	// clock again. Stop releases what the alarm holds; it may be called more than
	// once. Alarm does not block and is safe for concurrent use.
	Alarm(unixMicro int64) (ring <-chan struct{}, stop func())
}

// Fresh returns the most recent reading that c can give: FreshUnixMicro where c
// implements [Fresher], UnixMicro otherwise. It does not block.
func Fresh(c Clock) int64 {
	if f, ok := c.(Fresher); ok {
		return f.FreshUnixMicro()
	}
	return c.UnixMicro()
}

// Alarm returns a channel that is closed at about the moment at which c reads
// unixMicro: by c itself where it implements [Alarmer], by a timer otherwise. As
// a clock can be stepped meanwhile, the caller reads it again after the channel
// was closed. Stop releases the timer; it may be called more than once. Alarm
// does not block and is safe for concurrent use.
func Alarm(c Clock, unixMicro int64) (ring <-chan struct{}, stop func()) {
	if a, ok := c.(Alarmer); ok {
		return a.Alarm(unixMicro)
	}
	// A wait of more than an hour is checked hourly: it keeps the arithmetic in
	// range, and a clock that is stepped forward is noticed within that time.
	wait, now := time.Hour.Microseconds(), Fresh(c)
	switch left := unixMicro - now; {
	case unixMicro == math.MaxInt64: // never, whatever c reads
	case unixMicro <= now:
		wait = 0
	case left > 0: // else it does not fit
		wait = min(wait, left)
	}
	ch := make(chan struct{})
	t := time.AfterFunc(time.Duration(wait)*time.Microsecond, func() { close(ch) })
	return ch, func() { t.Stop() }
}
