package frozen

// followMutants break how a namespace that is to be followed is read.
var followMutants = []mutant{
	{
		name: "follow: the floor read by a write",
		file: "coord/follow/ending.go",
		old:  "info, err := inspector.Inspect(ctx)",
		new:  "at, err := inspector.(coord.Admin).Quarantine(ctx, time.UnixMicro(s.Scale.Micro(0)))\n\tinfo := coord.Namespace{Layout: s.Fingerprint, Floor: at}",
		pkg:  "./coord/follow", test: "TestReadsDoNotWrite",
	},
	{
		name: "follow: the floor of the new namespace read by a write",
		file: "coord/follow/checks.go",
		old:  "info, err := m.next.Inspect(ctx)",
		new:  "floor, err := m.next.Quarantine(ctx, m.timeOf(0))\n\tinfo := coord.Namespace{}\n\tif m.tick(floor) > 0 {\n\t\tinfo.Floor = floor\n\t}",
		pkg:  "./coord/follow", test: "TestReadsDoNotWrite",
	},
	{
		name: "follow: an old namespace that cannot be shown taken for one without a floor",
		file: "coord/follow/ending.go",
		old:  "if _, changes := c.(coord.Admin); changes {",
		new:  "if false {",
		pkg:  "./coord/follow", test: "TestFollowNeedsInterfaces",
	},
	{
		name: "follow: a loss that the closing hides left out",
		file: "coord/follow/ending.go",
		old:  "floor = info.Lost",
		new:  "floor = time.Time{}",
		pkg:  "./coord/follow", test: "TestFollowLoss",
	},
	{
		name: "follow: a loss that Redis notices when it is closed left out",
		file: "coord/redis/lua/inspect.lua",
		old:  "meta.unit, meta.loss.floor, meta.base,",
		new:  "meta.unit, 0, 0,",
		pkg:  "./coord/redis", test: "TestMoveAfterRestart",
	},
	{
		name: "follow: a loss on record not shown",
		file: "internal/protocol/meta.go",
		old:  "if m.Loss.Floor > 0 {",
		new:  "if m.Loss.Floor > 0 && !n.Closed {",
		pkg:  "./internal/protocol", test: "TestInspectedLoss",
	},
	{
		name: "follow: the layout on record not compared",
		file: "coord/follow/ending.go",
		old:  "case info.Layout != s.Fingerprint:",
		new:  "case false:",
		pkg:  "./coord/follow", test: "TestFollowRecordGone",
	},
	{
		name: "unalike: a namespace that cannot be shown taken for one that cannot be closed",
		file: "cmd/unalike/patience.go",
		old:  "case lists && !changes:",
		new:  "case lists:",
		pkg:  "./cmd/unalike", test: "TestAskedCanStillChange",
	},
}
