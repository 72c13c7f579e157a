package frozen

// awaySimMutants break rules of state files. A simulation finds them without a word about
// the rule.
var awaySimMutants = []mutant{
	{
		name: "local, simulated: a start goes on at the beginning of the window, not above the mark",
		file: "coord/local/takeover.go",
		old:  "\te.Mark, e.Parked = max(e.Mark, p.From), false\n",
		new:  "\te.Mark, e.Parked = p.From, false\n",
		pkg:  "./coord/local", test: "TestSimulation",
	},
	{
		name: "local, simulated: a grant is given back before the file says so",
		file: "coord/local/release.go",
		old:  "err := c.storeOnce(ctx, h.without); err != nil {\n",
		new:  "err := error(nil); err != nil {\n",
		pkg:  "./coord/local", test: "TestSimulation",
	},
	{
		name: "local, simulated: what is parked is the beginning of the window",
		file: "coord/local/release.go",
		old:  "h.entry.Mark, h.entry.Parked = last, true",
		new:  "h.entry.Mark, h.entry.Parked = h.outer.NotBefore, true",
		pkg:  "./coord/local", test: "TestSimulation",
	},
	{
		name: "local, simulated: a grant of another place is used",
		file: "coord/local/coordinator.go",
		old:  "e.elsewhere = e.Place != c.place;",
		new:  "e.elsewhere = false;",
		pkg:  "./coord/local", test: "TestSimulation",
	},
	{
		name: "local, simulated: a grant with another layout is used",
		file: "coord/local/takeover.go",
		old:  "e.Layout != req.Fingerprint, ",
		new:  "",
		pkg:  "./coord/local", test: "TestSimulation",
	},
	{
		name: "local, simulated: one grant is gone on with by two generators",
		file: "coord/local/takeover.go",
		old:  "return !e.taken && slices",
		new:  "return slices",
		pkg:  "./coord/local", test: "TestSimulation",
	},
}
