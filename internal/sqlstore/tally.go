package sqlstore

// tally is how often the slots of a namespace were written, since the last loss on record.
// Each write raises it, and nothing lowers it but a loss: the server's position goes on after
// a dump was restored, and its lineage is the same.
type tally struct {
	since  string // the nonces of namespace and loss
	writes int64
}

// tallied returns the highest tally so far.
func (s *store) tallied() tally {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tally
}

// undone returns how many writes are missing in an answer that has counted them, to a request
// that was made after a tally, and has made so many itself. An answer with another loss on record
// counts only if no other has come since its request was made: it may be of before that loss.
func (s *store) undone(before tally, a *answer, wrote int64) int64 {
	if !a.meta.There() {
		return 0
	}
	now := tally{a.meta.Record.Nonce + a.meta.Record.Loss.Nonce, a.writes}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tally.since == now.since {
		s.tally.writes = max(s.tally.writes, now.writes)
	} else if s.tally == before { //mutant:sql-tally-late
		s.tally = now
	}
	if before.since != now.since {
		return 0
	}
	return max(before.writes+wrote-now.writes, 0) //mutant:sql-undone
}
