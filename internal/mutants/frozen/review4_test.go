package frozen

// review4Mutants bring back faults that a review of coord/zk found.
var review4Mutants = []mutant{
	{
		name: "zk: a kept survey vouches for a clock that was set since",
		file: "internal/protocol/acquire.go",
		old:  "a.clocks.check(ctx, s, sv, sv.during(a.clock()))",
		new:  "a.clocks.check(ctx, s, sv, Span{sv.Server, sv.Server})",
		pkg:  "./coord/zk", test: "TestClockSetBetweenAttempts",
	},
	{
		name: "zk: tickets that fall are not noticed",
		file: "internal/protocol/loss.go",
		old:  "if p.Drawn != 0 && p.Drawn <= at.position.Drawn {",
		new:  "if false {",
		pkg:  "./coord/zk", test: "TestElectionAfterALoss",
	},
	{
		name: "zk: what was given up is kept when its session ends by itself",
		file: "internal/protocol/tenant.go",
		old:  "\tif c.tenants[t.token] == t {\n\t\tdelete(c.tenants, t.token)\n\t}\n",
		new:  "",
		pkg:  "./internal/protocol", test: "TestNothingIsKept",
	},
}
