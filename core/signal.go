package core

import "sync"

// signal wakes everybody who waits for some change. The zero signal is ready.
type signal struct {
	mu sync.Mutex
	ch chan struct{} // nil while nobody waits
}

// wait returns a channel that the next broadcast closes. Take it before looking at
// what may change, or a change in between is missed.
func (s *signal) wait() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ch == nil {
		s.ch = make(chan struct{})
	}
	return s.ch
}

// broadcast wakes everybody who waits now.
func (s *signal) broadcast() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ch != nil {
		close(s.ch)
		s.ch = nil
	}
}
