package mutants

// brokenMutants are mistakes with state files that two troubles at once bring to light.
var brokenMutants = []mutant{
	{
		name: "broken: who went on without the back end leaves it no time for two answers",
		file: "coord/local/renew.go",
		old:  "wait *= 2 //",
		new:  "wait *= 1 //",
		pkg:  "./coord/local", test: "TestRestartOnASlowBackEnd",
	},
	{
		name: "broken: each attempt of a start asks for the namespace again",
		file: "coord/local/acquire.go",
		old:  "; ok && len(without) == 0 &&",
		new:  "; ok && false &&",
		pkg:  "./coord/local", test: "TestRestartOnASlowBackEnd",
	},
	{
		name: "broken: a window that opens late is preferred to an answer",
		file: "coord/local/acquire.go",
		old:  "\t\t\tlimit = ask.TTL\n",
		new:  "",
		pkg:  "./coord/local", test: "TestClockBehindOnASlowBackEnd",
	},
	{
		name: "broken: a window that opens late leaves a lease no time",
		file: "coord/local/acquire.go",
		old:  "\tif !c.allLate(others, ask.Request) {",
		new:  "\tif true {",
		pkg:  "./coord/local", test: "TestClockBehindOnASlowBackEnd",
	},
	{
		name: "broken: a window that opens late is kept when the back end answers again",
		file: "coord/local/renew.go",
		old:  "\tif opensLate(h.start, now, h.req, c.window) {",
		new:  "\tif false {",
		pkg:  "./coord/local", test: "TestClockBehindOnASlowBackEnd",
	},
	{
		name: "broken: a disk that hangs is waited for where no mark has passed",
		file: "coord/local/save.go",
		old:  "\tcase s.busy && lifetime.Since(s.began) >= c.window:",
		new:  "\tcase false:",
		pkg:  "./coord/local", test: "TestRetiredWhileTheDiskHangs",
	},
	{
		name: "broken: a disk that fails is waited for where no mark has passed",
		file: "coord/local/save.go",
		old:  "\tcase s.failing.IsZero() || lifetime.Since(s.failing) < c.window:",
		new:  "\tdefault:",
		pkg:  "./coord/local", test: "TestRetiredWhileTheDiskHangs",
	},
	{
		name: "broken: what the file may have is released with the token of the file",
		file: "coord/local/release.go",
		old:  "\t\tg = c.aliased(g)\n",
		new:  "",
		pkg:  "./coord/local", test: "TestTokenOfTheFileWithoutDisk",
	},
	{
		name: "broken: what the file may have is renewed with the token of the file",
		file: "coord/local/renew.go",
		old:  "\t\tg = c.aliased(g)\n",
		new:  "",
		pkg:  "./coord/local", test: "TestTokenOfTheFileWithoutDisk",
	},
	{
		name: "broken: a token of the file is not leased with while the disk hangs",
		file: "coord/local/acquire.go",
		old:  "if e.names(ask.Token) && c.disk == nil {",
		new:  "if e.names(ask.Token) {",
		pkg:  "./coord/local", test: "TestClockStepsBackWhileTheDiskHangs",
	},
	{
		name: "broken: a release that is called off keeps the worker ID from the next holder",
		file: "coord/local/release.go",
		old:  "\t\tc.letGo(g)\n",
		new:  "",
		pkg:  "./coord/local", test: "TestCalledOffRelease",
	},
}
