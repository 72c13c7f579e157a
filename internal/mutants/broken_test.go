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
}
