package zk

import (
	"sync"
	"time"
)

const (
	// mostForsaken is how many sessions are kept that nobody uses.
	mostForsaken = 8
	// forsakenTime is how long a call may be away before it is made again.
	forsakenTime = 2 * time.Second
)

// forsaken are the sessions of calls that were given up: another call with the same token goes
// on with them. Of those that hold nothing, as far as is known, a few are kept for longer.
type forsaken struct {
	mu       sync.Mutex
	sessions map[*session]*time.Timer
}

// forsake notes that nobody uses a session just now.
func (f *forsaken) forsake(s *session) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.sessions[s] == nil && !s.held.Load() {
		f.sessions[s] = time.AfterFunc(forsakenTime, func() { f.thin(s) })
	}
}

// reclaim notes that a session is used again, or has ended.
func (f *forsaken) reclaim(s *session) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if t := f.sessions[s]; t != nil {
		t.Stop()
		delete(f.sessions, s)
	}
}

// thin ends a session that was not used again, if there are many.
func (f *forsaken) thin(s *session) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.sessions[s] != nil && len(f.sessions) > mostForsaken {
		delete(f.sessions, s)
		s.End()
	}
}
