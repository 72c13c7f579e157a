package segment

import "time"

// age has the segment that is the present one from now on dropped when it is too old. The lock is
// held.
func (s *Sequence) age(p *span) {
	if s.cfg.MaxAge == 0 {
		return
	}
	if s.aging != nil {
		s.aging.Stop()
	}
	s.aging = time.AfterFunc(s.cfg.MaxAge-time.Since(p.taken), s.drop)
}

// drop gives back what is left of a present segment that is too old, and of the next one.
func (s *Sequence) drop() {
	s.mu.Lock()
	p := s.cur.Load()
	if young := time.Since(p.taken) < s.cfg.MaxAge; s.ended != nil || young || p.left() == 0 {
		if s.ended == nil && p.left() == 0 && s.next != nil {
			s.promote() // it ages from now on
		}
		s.mu.Unlock()
		return
	}
	s.running.Add(1)
	defer s.running.Done()
	used := p.spent()
	s.figures.measure(used, time.Now())
	s.figures.turn(used, time.Now())
	s.cur.Store(s.shut())
	rest := s.rest()
	s.top = rest.First - 1 // what is given back may come again
	s.idle = true
	s.cur.Store(&span{})
	s.mu.Unlock()
	if err := s.putBack(s.life, rest); err != nil {
		s.cfg.Logger.Warn("giving back old numbers failed", "tag", s.tag, "error", err)
	}
}
