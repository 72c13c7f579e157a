package mutants

// review4Mutants bring back faults that a review of coord/zk found.
var review4Mutants = []mutant{
	{
		name: "zk: a kept survey vouches for a clock that was set since",
		file: "coord/zk/acquire.go",
		old:  " && a.vouches(sv) {",
		new:  " {",
		pkg:  "./coord/zk", test: "TestClockSetBetweenAttempts",
	},
	{
		name: "zk: tickets that fall are not noticed",
		file: "coord/zk/memory.go",
		old:  "\tcase number <= at.ticket:",
		new:  "\tcase false:",
		pkg:  "./coord/zk", test: "TestElectionAfterALoss",
	},
	{
		name: "zk: what was given up is kept when its session ends by itself",
		file: "coord/zk/incarnation.go",
		old:  "func() { c.tidy(inc) })",
		new:  "func() {\n\t\t\tif context.Cause(s.life) == errIdle {\n\t\t\t\tc.tidy(inc)\n\t\t\t}\n\t\t})",
		pkg:  "./coord/zk", test: "TestNothingIsKeptForEver",
	},
}
