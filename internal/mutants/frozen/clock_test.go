package frozen

// clockMutants break the clock that uses a reading again while it is recent.
var clockMutants = []mutant{
	{
		name: "a reading is recent for ever",
		file: "clock/recent.go",
		old:  "now()-at < recentCycles && ",
		new:  "now() != 0 && at > storing && ",
		pkg:  "./clock", test: "TestRecent",
	},
	{
		name: "a counter that is behind counts as recent",
		file: "clock/recent.go",
		old:  "now()-at < recentCycles",
		new:  "int64(now()-at) < recentCycles",
		pkg:  "./clock", test: "TestRecent",
	},
	{
		name: "a reading that was replaced meanwhile is used",
		file: "clock/recent.go",
		old:  " && r.at.Load() == at",
		new:  "",
		pkg:  "./clock", test: "TestRecentWhileStoring",
	},
	{
		name: "two readings are stored at the same time",
		file: "clock/recent.go",
		old:  "old == storing || ",
		new:  "",
		pkg:  "./clock", test: "TestRecentWhileStoring",
	},
}
