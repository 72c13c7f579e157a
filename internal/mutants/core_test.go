package mutants

// coreMutants break the generator: the transition of the state word, the order of
// its readings, the gate, the count.
var coreMutants = []mutant{
	{
		name: "clock read before the state in a retry",
		file: "core/attempt.go",
		old:  "got: got, word: next}\n\t\t\t}\n\t\t\told, fresh = t.state.Load(), false",
		new:  "got: got, word: next}\n\t\t\t}\n\t\t\told, fresh = t.state.Load(), true",
		pkg:  "./core", test: "TestClockReadBeforeStateInEveryRetry",
	},
	{
		name: "clock read before the state at first",
		file: "core/attempt.go",
		old:  "\told := t.state.Load()\n\tnow, fresh := g.tickNow(), g.fresher == nil\n",
		new:  "\tnow, fresh := g.tickNow(), g.fresher == nil\n\told := t.state.Load()\n",
		pkg:  "./core", test: "TestClockReadBeforeStateInEveryRetry",
	},
	{
		name: "window read before the state",
		file: "core/attempt.go",
		old:  "\tnow, fresh := g.tickNow(), g.fresher == nil\n\tfor {\n\t\tnext, v := g.rule.step(old, t.start, t.seed, now, t.notAfter.Load())",
		new:  "\tnotAfter := t.notAfter.Load()\n\tnow, fresh := g.tickNow(), g.fresher == nil\n\tfor {\n\t\tnext, v := g.rule.step(old, t.start, t.seed, now, notAfter)",
		pkg:  "./core", test: "TestWindowReadAfterState",
	},
	{
		name: "inclusive lower bound",
		file: "core/rule.go",
		old:  "return uint64(tick+1)<<r.shift - 1",
		new:  "return uint64(tick)<<r.shift - 1",
		pkg:  "./core", test: "TestStartWord",
	},
	{
		name: "inclusive upper bound moved by one",
		file: "core/rule.go",
		old:  "case t <= notAfter:",
		new:  "case t <= notAfter+1:",
		pkg:  "./core", test: "TestStep",
	},
	{
		name: "short way without the window",
		file: "core/rule.go",
		old:  "t-now <= r.lead && t <= notAfter &&",
		new:  "t-now <= r.lead &&",
		pkg:  "./core", test: "TestFast",
	},
	{
		name: "short way without the range",
		file: "core/rule.go",
		old:  "if uint64(now) > r.lastTick {",
		new:  "if false {",
		pkg:  "./core", test: "TestFast",
	},
	{
		name: "ticks wrap instead of ending",
		file: "core/rule.go",
		old:  "if now > int64(r.lastTick) {",
		new:  "if false {",
		pkg:  "./core", test: "TestStep",
	},
	{
		name: "tolerance off by one",
		file: "core/rule.go",
		old:  "case oldTick-now > r.limit:",
		new:  "case oldTick-now >= r.limit:",
		pkg:  "./core", test: "TestStep",
	},
	{
		name: "small rollback waits instead of using the tick",
		file: "core/rule.go",
		old:  "case t == oldTick:",
		new:  "case false:",
		pkg:  "./core", test: "TestStep",
	},
	{
		name: "closed word reopens on the short way",
		file: "core/rule.go",
		old:  "next = max(old+1, uint64(now)<<r.shift)",
		new:  "next = max(old&^closedBit+1, uint64(now)<<r.shift)",
		pkg:  "./core", test: "TestClosedTermNeverReopens",
	},
	{
		name: "closed word reopens on the long way",
		file: "core/rule.go",
		old:  "\t\treturn old, closed\n",
		new:  "\t\told &^= closedBit\n",
		pkg:  "./core", test: "TestStep",
	},
	{
		name: "closed word reopens by an extension",
		file: "core/stripe.go",
		old:  "\ts.term.Load().extend(notAfter)\n",
		new:  "\ts.term.Load().extend(notAfter)\n\ts.term.Load().state.And(closedBit - 1)\n",
		pkg:  "./core", test: "TestClosedTermNeverReopens",
	},
	{
		name: "trim without close",
		file: "core/stripe.go",
		old:  "\ts.prepare()\n\tlast = s.closeTerm(t)\n",
		new:  "\ts.prepare()\n\tlast, _ = s.Last()\n",
		pkg:  "./core", test: "TestCloseUnderLoad",
	},
	{
		name: "swap without close",
		file: "core/stripe.go",
		old:  "\t\tlast = s.closeTerm(old)\n",
		new:  "\t\tlast, _ = s.Last()\n",
		pkg:  "./core", test: "TestStalledCallCannotReachTheNextTerm",
	},
	{
		name: "swap begins below the last tick",
		file: "core/stripe.go",
		old:  "from = max(from, last)",
		new:  "from = max(from, 0)",
		pkg:  "./core", test: "TestSwapKeepsOrder",
	},
	{
		name: "grant published after close",
		file: "core/stripe.go",
		old:  "if s.g.closing.Load() {\n\t\treturn last, false",
		new:  "if false {\n\t\treturn last, false",
		pkg:  "./core", test: "TestSwapAfterCloseIsRefused",
	},
	{
		name: "failure reported in the middle of a swap",
		file: "core/attempt.go",
		old:  "latest := s.settle()",
		new:  "latest := s.term.Load()",
		pkg:  "./core", test: "TestCallDuringSwap",
	},
	{
		name: "window extended without max",
		file: "core/term.go",
		old:  "if notAfter <= old || t.notAfter",
		new:  "if t.notAfter",
		pkg:  "./core", test: "TestExtendNeverShrinks",
	},
	{
		name: "count with a random start",
		file: "core/rule.go",
		old:  "\treturn mix(uint64(tick)^seed) % r.spread\n}\n",
		new:  "\tanyNumber++\n\treturn mix(uint64(tick)^seed^anyNumber) % r.spread\n}\n\nvar anyNumber uint64\n",
		pkg:  "./core", test: "TestHashedStarts",
	},
	{
		name: "starting word counted",
		file: "core/rule.go",
		old:  "\tif word == start {\n\t\treturn 0\n\t}\n",
		new:  "",
		pkg:  "./core", test: "TestUsedCountsWhatStepIssued",
	},
	{
		name: "tick left on the short way not counted",
		file: "core/next.go",
		old:  "if next>>g.rule.shift != old>>g.rule.shift {",
		new:  "if false {",
		pkg:  "./core", test: "TestLikeThePlainGenerator",
	},
	{
		name: "run longer than its tick",
		file: "core/rule.go",
		old:  "return int(min(room, uint64(n)))",
		new:  "return int(min(room+1, uint64(n)))",
		pkg:  "./core", test: "TestFillIsManyNexts",
	},
}

// keeperMutants break the loop that keeps a worker ID.
var keeperMutants = []mutant{}

// driverMutants break coordinators.
var driverMutants = []mutant{}
