package coordtest

// openCases are about rule 5: which of the free worker IDs is granted.
var openCases = []testCase{
	{"AcquirePrefersToOpenInTime", needCrash, func(s *suite) {
		second := s.client(2)
		g := s.acquire(second)
		s.crash(second, g)
		// The other worker ID is freed later, so that neither the order of the numbers nor
		// that of their use speaks for it.
		for range 2 {
			p := s.client(2)
			h := s.acquire(p)
			s.wantOther(h, g)
			s.release(p, h, h.NotBefore)
		}
	}},
	{"AcquireGrantsWhatOpensFirst", needCrash, func(s *suite) {
		first, second := s.client(2), s.client(2)
		a, b := s.acquire(first), s.acquire(second)
		// The one that was used longer ago opens later.
		a, b = s.renew(first, a, s.now+2*s.horizon), s.renew(second, b, s.now+3*s.horizon/2)
		s.crash(first, a)
		s.crash(second, b)
		if h := s.acquire(s.client(2)); h.WorkerID != b.WorkerID {
			s.Fatalf("%v was granted; want worker ID %d, whose window opens first", h, b.WorkerID)
		}
	}},
}
