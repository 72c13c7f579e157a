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
}
