package mutants

// All returns all mutants.
func All() []Mutant {
	return []Mutant{{
		Name:  "owner-only-compare",
		About: "a renewal compares the token and not the generation, so that a late copy of an old acquisition revives an old holder; what compares versions as well, as all but Redis do, never gets so far",
		File:  "coord/redis/lua/namespace.lua",
		Old:   "return g.token ~= '' and s.token == g.token and s.generation == g.generation end",
		New:   "return g.token ~= '' and s.token == g.token end",

		Scenario: "replayed-acquire", Backend: "redis",
		Storm: Storm{"redis", 32521},
	}, {
		Name:  "no-max",
		About: "the stored end of a window is what the last renewal has asked for, although an earlier one has got more; what compares versions as well, as all but Redis do, does not carry out the late one",
		File:  "coord/redis/lua/slot.lua",
		Old:   "math.min(math.max(s.notAfter, wanted), s.lastTick), g.notBefore",
		New:   "math.min(wanted, s.lastTick), g.notBefore",

		Scenario: "reordered-renewals", Backend: "redis",
		Storm: Storm{"redis", 8624},
	}, {
		Name:  "not-before-from-the-clock",
		About: "a window begins now, and not where the last one ends",
		File:  "internal/protocol/candidate.go",
		Old:   "\tfrom := c.opens(meta.Floor)\n",
		New:   "\tfrom := req.Scale.Tick(now)\n",

		Scenario: "contested-window", Backend: "etcd",
		Storm: Storm{"etcd", 1},
		SQL:   "postgres",
	}, {
		Name:  "trim-without-close",
		About: "what is left of a window is given back while goroutines can still issue IDs in it",
		File:  "core/stripe.go",
		Old:   "\tlast = s.closeTerm(t)\n\ts.prepare()\n",
		New:   "\t_ = t\n\tlast, _ = s.Last()\n\ts.prepare()\n",

		Scenario: "closed-under-load", Backend: "etcd",
		Storm: Storm{"etcd", 8},
		SQL:   "mariadb",
	}, {
		Name:  "floor-from-own-horizon",
		About: "after a loss of state, whoever finds it has all wait for its own horizon, and not for the longest one",
		File:  "coord/redis/coordinator.go",
		Old:   "\tall := []any{c.maxHorizon.Microseconds(), ",
		New:   "\town := c.maxHorizon\n\tif c.opts.Lease.Horizon > 0 {\n\t\town = c.opts.Lease.Horizon\n\t}\n\tall := []any{own.Microseconds(), ",
		More: []Change{{
			File: "internal/sqlstore/store.go",
			Old:  "\treturn protocol.New(NewStore(db, d, namespace, o), protocol.Settings{\n\t\tDriver: driver, Place: place, Title: title, Namespace: namespace, Lease: o.Lease, MinTTL: MinTTL, MaxHorizon: MaxHorizon,\n",
			New: "\town := MaxHorizon\n\tif o.Lease.Horizon > 0 {\n\t\town = o.Lease.Horizon\n\t}\n" +
				"\treturn protocol.New(NewStore(db, d, namespace, o), protocol.Settings{\n\t\tDriver: driver, Place: place, Title: title, Namespace: namespace, Lease: o.Lease, MinTTL: MinTTL, MaxHorizon: own,\n",
		}},

		Scenario: "two-horizons", Backend: "redis",
		Storm: Storm{"redis", 13816},
		SQL:   "mariadb",
	}, {
		Name:  "extension-in-place",
		About: "a renewal across a floor extends the window, with the ticks below the floor",
		File:  "internal/protocol/slot.go",
		Old:   "\t\tfrom, next.NotBefore = cut, cut\n",
		New:   "",

		Scenario: "restored-and-quarantined", Backend: "etcd",
		Storm: Storm{"etcd", 11263},
		SQL:   "mariadb",
	}, {
		Name:  "next-window-at-the-floor",
		About: "where there is a floor, a window begins there, although the last one ends above it",
		File:  "internal/protocol/candidate.go",
		Old:   "{ return max(c.Slot.NotAfter, floor) }",
		New:   "{\n\tif floor > 0 {\n\t\treturn floor\n\t}\n\treturn c.Slot.NotAfter\n}",

		Scenario: "contested-above-a-floor", Backend: "etcd",
		Storm: Storm{"etcd", 6},
		SQL:   "postgres",
	}, {
		Name:  "given-back-below-others",
		About: "a process that ends gives back the plain numbers that it has left, although others have taken ranges above them since",
		File:  "internal/sqlsegment/store.go",
		Old:   "AND max_id = $FROM AND",
		New:   "AND max_id >= $FROM AND",
		More: []Change{{
			File: "segment/etcd/store.go",
			Old:  "\tmine, taken := s.last(tag)\n\tif err := s.alive(ctx); err != nil || !taken || mine.Next != unused.Last+1 {\n",
			New:  "\tmine, err := s.read(ctx, tag, false)\n\tif err != nil || mine.Next <= unused.Last {\n",
		}},

		Scenario: "segments-lost-replies", Backend: "etcd",
		SQL: "mariadb",
	}, {
		Name:  "beyond-a-run",
		About: "a client of servers takes one ID more than a run of a reply has",
		File:  "client/stock.go",
		Old:   "n <= p.count\n",
		New:   "n <= p.count+1\n",

		Scenario: "service", Backend: "etcd",
		SQL: "postgres",
	}, {
		Name:  "resumed-from-the-beginning",
		About: "who goes on with a state file begins where the window in it begins, and not above the mark",
		File:  "coord/local/takeover.go",
		Old:   "\te.Mark, e.Parked = max(e.Mark, p.From), false\n",
		New:   "\te.Mark, e.Parked = p.From, false\n",

		Scenario: "state-clock-steps", Backend: "etcd",
		SQL: "postgres",
	}, {
		Name:  "given-back-after-the-release",
		About: "the state file says that a grant was given back when that was answered, and not before it is sent",
		File:  "coord/local/release.go",
		Old:   "\tif !h.releasing {\n\t\th.releasing = true\n\t\tc.drop(h.entry)\n\t\th.without = c.saver.wanted + 1\n\t}\n\tif err := c.storeOnce(ctx, h.without); err != nil {\n\t\treturn err // it is not given back then: it becomes free when its lease ends\n\t}\n\treturn c.giveBack(ctx, h, g, last)\n",
		New:   "\th.releasing = true\n\tif err := c.giveBack(ctx, h, g, last); err != nil {\n\t\treturn err\n\t}\n\tc.drop(h.entry)\n\treturn c.store(ctx)\n",

		Scenario: "state-late-release", Backend: "etcd",
		SQL: "postgres",
	}}
}
