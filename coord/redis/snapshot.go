package redis

import (
	"errors"
	"sync"
	"time"

	"github.com/unalike-id/unalike/internal/lifetime"
)

// snapshot is a namespace as a reply of the server showed it. The zero snapshot is that
// of a namespace that was never seen.
type snapshot struct {
	fingerprint string
	nonce, loss string    // of the namespace, and of the last loss on its record
	generation  int64     // the last one given out
	base        int64     // of its floor
	at          int64     // the server's clock, in microseconds since 1970
	came        time.Time // when the reply came; for measuring how long ago that is
}

// snapshotOf reads the part of a reply that has it; a script that did not look at the
// namespace leaves it empty.
func snapshotOf(r reply) (snapshot, error) {
	if len(r) == 0 {
		return snapshot{}, nil
	}
	s := snapshot{came: lifetime.Now()}
	var errs [4]error
	s.fingerprint, errs[0] = r.text(0)
	s.nonce, errs[1] = r.text(1)
	s.loss, errs[2] = r.text(2)
	v, err := r.ints(3, 3)
	errs[3] = err
	s.generation, s.base, s.at = v[0], v[1], v[2]
	return s, errors.Join(errs[:]...)
}

// age is how long ago the namespace was seen, in microseconds. It is measured, so that
// no clock that is set has a part in it.
func (s snapshot) age() int64 {
	if s.nonce == "" {
		return 0
	}
	return lifetime.Since(s.came).Microseconds()
}

// args are a snapshot as the scripts read it.
func (s snapshot) args() []any {
	return []any{s.fingerprint, s.nonce, s.loss, s.generation, s.base, s.age(), s.at}
}

// latest keeps the newest snapshot. It is safe for concurrent use.
type latest struct {
	mu   sync.Mutex
	last snapshot
}

func (l *latest) get() snapshot {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

// put keeps s, unless it is from before the last one: replies overtake each other. A
// server whose clock was set back is believed when no such reply can come any more.
func (l *latest) put(s snapshot) {
	if s.nonce == "" {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.at >= l.last.at || s.came.Sub(l.last.came) > longestCall {
		l.last = s
	}
}
