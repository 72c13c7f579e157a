package frozen

// zkMutants are about what the ZooKeeper store does in place of nodes and requests of its own.
var zkMutants = []mutant{
	{
		name: "zk: tickets do not count",
		file: "coord/zk/store.go",
		old:  "f.Number, f.Drawn, f.replies = clock.stat.Mzxid, s.number(clock.stat.Version-1)+1, replies",
		new:  "f.Number, f.replies = clock.stat.Mzxid, replies",
		pkg:  "./coord/zk", test: "TestElectionAfterALoss",
	},
	{
		name: "zk: tickets begin again with versions",
		file: "coord/zk/store.go",
		old:  "n := last + int64(version-int32(last))",
		new:  "n := last - last + int64(uint32(version))",
		pkg:  "./coord/zk", test: "TestTicketNumber",
	},
	{
		name: "zk: any packet taken for a request",
		file: "coord/zk/wire.go",
		old:  "request > 0 && operation != setWatches",
		new:  "request > 0 || operation != setWatches",
		pkg:  "./coord/zk", test: "TestWireSends",
	},
	{
		name: "zk: credentials not shown",
		file: "coord/zk/wire.go",
		old:  "err != nil || w.login == nil {",
		new:  "err != nil || w.login != nil {",
		pkg:  "./coord/zk", test: "TestWireSends",
	},
	{
		name: "zk: sessions of a closed coordinator ended on the servers",
		file: "coord/zk/session.go",
		old:  "\t\ts.mute = why\n",
		new:  "\t\ts.mute = nil\n",
		pkg:  "./coord/zk", test: "TestCloseReleasesNothing",
	},
	{
		name: "zk: the token of the session before left in the way",
		file: "coord/zk/commit.go",
		old:  "ownerOf(change.Before).token {",
		new:  "ownerOf(change.Before).token && false {",
		pkg:  "./coord/zk", test: "TestOwnerDeleted",
	},
	{
		name: "zk: requests sent in any order",
		file: "coord/zk/call.go",
		old:  "if err := s.until(ctx, s.sent, calls[i].done); err != nil {",
		new:  "if err := ctx.Err(); err != nil {",
		pkg:  "./coord/zk", test: "TestOrder",
	},
}
