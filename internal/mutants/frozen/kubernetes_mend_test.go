package frozen

// kubernetesMendMutants are about coming back when what is between, or below an API server, or another starter, has left
// something behind.
var kubernetesMendMutants = []mutant{
	{
		name: "kubernetes: each connection that was forgotten is found out alone",
		file: "coord/kubernetes/lines.go",
		old:  "\tif silent || l.of.all.silent() {",
		new:  "\tif silent && l.of.all.silent() && l.Conn == nil {",
		pkg:  "./coord/kubernetes", test: "TestForgottenConnections",
	},
	{
		name: "kubernetes: who gives up soon tries all connections",
		file: "coord/kubernetes/lines.go",
		old:  "\tif silent || l.of.all.silent() {",
		new:  "\tif silent {",
		pkg:  "./coord/kubernetes", test: "TestForgottenConnections",
	},
	{
		name: "kubernetes: lists of what is stored no more are believed",
		file: "coord/kubernetes/list.go",
		old:  "still != nil {",
		new:  "still != nil && a == nil {",
		pkg:  "./coord/kubernetes", test: "TestOldCache",
	},
	{
		name: "kubernetes: a write that was refused for another reason condemns the cache",
		file: "coord/kubernetes/cached.go",
		old:  "err != nil || stored.is(listed) {",
		new:  "err != nil {",
		pkg:  "./coord/kubernetes", test: "TestDoubted",
	},
	{
		name: "kubernetes: a list that was overtaken condemns the cache",
		file: "coord/kubernetes/cached.go",
		old:  "!now.is(listed) {",
		new:  "now == nil {",
		pkg:  "./coord/kubernetes", test: "TestDoubted",
	},
	{
		name: "kubernetes: a claim lasts longer than whoever has made it",
		file: "coord/kubernetes/make.go",
		old:  "lasts.Microseconds() + ",
		new:  "claimTime.Microseconds() + ",
		pkg:  "./coord/kubernetes", test: "TestHurried",
	},
	{
		name: "kubernetes: who is told to end leaves its claim",
		file: "coord/kubernetes/make.go",
		old:  "\t\tgo s.giveUp(context.WithoutCancel(ctx), claimed, c)\n",
		new:  "",
		pkg:  "./coord/kubernetes", test: "TestHurried",
	},
	{
		name: "kubernetes: all the time is spent on making slots",
		file: "coord/kubernetes/make.go",
		old:  "lasts/2)",
		new:  "lasts)",
		pkg:  "./coord/kubernetes", test: "TestFewSlots",
	},
	{
		name: "kubernetes: a part of the slots does not count",
		file: "coord/kubernetes/make.go",
		old:  "return first + n, err",
		new:  "return first + n*0, err",
		pkg:  "./coord/kubernetes", test: "TestFewSlots",
	},
	{
		name: "kubernetes: slots count that are not made",
		file: "coord/kubernetes/make.go",
		old:  "n := slices.Index(done, false); n >= 0",
		new:  "n := slices.Index(done, false); n > len(done)",
		pkg:  "./coord/kubernetes", test: "TestFewSlots",
	},
}
