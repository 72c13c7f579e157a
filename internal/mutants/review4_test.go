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
		pkg:  "./coord/zk", test: "TestBetween/LossAcquire$",
	},
}
