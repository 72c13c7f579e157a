package coordtest

// openCases are about rule 5: which of the free worker IDs is granted.
var openCases = []testCase{
	{"AcquirePrefersToOpenInTime", func(s *suite) {
		second := s.client(2)
		g := second.acquire()
		second.crash(g)
		// The other worker ID is freed later, so that neither the order of the numbers nor
		// that of their use speaks for it.
		for range 2 {
			p := s.client(2)
			h := p.acquire()
			s.wantOther(h, g)
			p.release(h, h.NotBefore)
		}
	}},
	{"AcquireGrantsWhatOpensFirst", func(s *suite) {
		first, second := s.client(2), s.client(2)
		a, b := first.acquire(), second.acquire()
		// The one that was used longer ago opens later.
		a, b = first.renew(a, s.at(2)), second.renew(b, s.at(1.5))
		first.crash(a)
		second.crash(b)
		if h := s.client(2).acquire(); h.WorkerID != b.WorkerID {
			s.Fatalf("%v was granted; want worker ID %d, whose window opens first", h, b.WorkerID)
		}
	}},
}
