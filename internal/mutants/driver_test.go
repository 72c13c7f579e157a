package mutants

// driverMutants break coordinators. The rules that hold for every driver are in
// coordtest, whose suite is tried on broken back ends of its own; these here are
// about what a driver does with files.
var driverMutants = []mutant{
	{
		name: "static: window used before it is stored",
		file: "coord/static/coordinator.go",
		old:  "if h.path != \"\" && (h.unsure || next.NotAfter != stored.NotAfter) {",
		new:  "if false {",
		pkg:  "./coord/static", test: "TestKilled",
	},
	{
		name: "static: NotBefore from the clock",
		file: "coord/static/coordinator.go",
		old:  "h.notBefore = max(h.notBefore, stored.NotAfter)",
		new:  "h.notBefore = max(h.notBefore, req.Now)",
		pkg:  "./coord/static", test: "TestKilled",
	},
	{
		name: "static: renewal without max",
		file: "coord/static/coordinator.go",
		old:  "next.NotAfter = max(h.record.NotAfter, stored.NotAfter, min(until, h.lastTick))",
		new:  "next.NotAfter = min(until, h.lastTick)",
		pkg:  "./coord/static", test: "TestConformance",
	},
	{
		name: "static: token and generation not compared",
		file: "coord/static/coordinator.go",
		old:  "if h.record.Token != g.Token || h.record.Generation != g.Generation {",
		new:  "if false {",
		pkg:  "./coord/static", test: "TestConformanceWithoutStateFile",
	},
	{
		name: "static: trim below the last tick",
		file: "coord/static/coordinator.go",
		old:  "max(last, h.notBefore))",
		new:  "h.notBefore)",
		pkg:  "./coord/static", test: "TestReleaseTrims",
	},
	{
		name: "static: lock not looked at",
		file: "internal/filelock/lock.go",
		old:  "if err == nil && ok {",
		new:  "if err == nil && (ok || !ok) {",
		pkg:  "./coord/static", test: "TestLockedByAnotherProcess",
	},
	{
		name: "static: missing file taken for a new one",
		file: "coord/static/coordinator.go",
		old:  "case !c.opts.AcceptFresh:",
		new:  "case false:",
		pkg:  "./coord/static", test: "TestMissingStateFileIsWaitedOut",
	},
	{
		name: "static: foreign state overwritten",
		file: "coord/static/coordinator.go",
		old:  "\t\tif err := stored.owned(h.pair, req.Fingerprint, req.LastTick); err != nil {\n\t\t\treturn misplaced(path, err)\n\t\t}\n",
		new:  "",
		pkg:  "./coord/static", test: "TestForeignState",
	},
	{
		name: "static: renamed before it is on the disk",
		file: "coord/static/storage.go",
		old:  "\t\terr = s.sync(f)\n",
		new:  "",
		pkg:  "./coord/static", test: "TestFailedWrite",
	},
	{
		name: "etcd: renewal looks at the floor alone",
		file: "internal/record/slot.go",
		old:  "cut := max(floor, next.NotBefore); cut > g.NotAfter",
		new:  "cut := floor; cut > g.NotAfter",
		pkg:  "./internal/record", test: "TestRulesAfterALossOfState",
	},
	{
		name: "etcd: floor compared with what is stored",
		file: "internal/record/slot.go",
		old:  "cut := max(floor, next.NotBefore); cut > g.NotAfter",
		new:  "cut := max(floor, next.NotBefore); cut > next.NotAfter",
		pkg:  "./coord/etcd", test: "TestConformance",
	},
	{
		name: "etcd: trim below the stored window",
		file: "internal/record/slot.go",
		old:  "max(last, s.NotBefore)",
		new:  "last",
		pkg:  "./internal/record", test: "TestRulesAfterALossOfState",
	},
	{
		name: "etcd: token and generation not compared",
		file: "internal/record/slot.go",
		old:  "s.Token == token && s.Generation == generation && token",
		new:  "token",
		pkg:  "./coord/etcd", test: "TestConformance",
	},
}
