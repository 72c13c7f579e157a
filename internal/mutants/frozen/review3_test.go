package frozen

// review3Mutants bring back faults that a review of package etcd found.
var review3Mutants = []mutant{
	{
		name: "etcd: a floor lowered when others are gone",
		file: "internal/protocol/clocks.go",
		old:  "\tif err != nil || len(alive) < quorum {\n\t\treturn meta, err == nil, err\n\t}\n",
		new:  "\tif err != nil || len(others) >= quorum && len(alive) < quorum {\n\t\treturn meta, err == nil, err\n\t}\n\tif len(alive) < quorum {\n\t\talive = []Mark{{Renewed: now}}\n\t}\n",
		pkg:  "./coord/etcd", test: "TestFloorStaysWhenOthersVanish",
	},
	{
		name: "etcd: a floor lowered to the earlier of two clocks",
		file: "internal/protocol/clocks.go",
		old:  "right := reference(alive, passed).High",
		new:  "right := reference(alive, passed).Low",
		pkg:  "./coord/etcd", test: "TestFloorIsNotLoweredByTheWrongOneOfTwo",
	},
	{
		name: "etcd: a floor lowered below what this clock demands",
		file: "internal/protocol/clocks.go",
		old:  "\tif !since.mine {\n",
		new:  "\tif false {\n",
		pkg:  "./coord/etcd", test: "TestFloorIsNotLoweredByTheWrongOneOfTwo",
	},
	{
		name: "etcd: a floor is not lowered by one who may not acquire",
		file: "internal/protocol/acquire.go",
		old:  "\tif err := a.settleDoubt(ctx, s); err != nil {\n\t\treturn nil, err\n\t}\n",
		new:  "",
		pkg:  "./coord/etcd", test: "TestFloorByAWrongClockThatHoldsNothing",
	},
	{
		name: "etcd: a floor is lowered by the one only who raised it",
		file: "internal/protocol/renew.go",
		old:  "\tif r.floored {\n\t\tr.question(r.v)\n\t}\n",
		new:  "",
		pkg:  "./coord/etcd", test: "TestFloorByAWrongClockThatIsGone",
	},
	{
		name: "etcd: a doubt lost with a reply",
		file: "internal/protocol/heal.go",
		old:  "\tif doubtful { // before it is written: the answer may be lost\n",
		new:  "\tdefer func() {\n\t\tif !done {\n\t\t\tc.clocks.setDoubt(doubt{})\n\t\t}\n\t}()\n\tif doubtful {\n",
		pkg:  "./coord/etcd", test: "TestLostReplyOnRaise",
	},
	{
		name: "etcd: a lease put back with a lost reply is revoked",
		file: "coord/etcd/store.go",
		old:  "if !last.sent {",
		new:  "if true {",
		pkg:  "./coord/etcd", test: "TestLostReplyOnResume",
	},
	{
		name: "etcd: a lease that may carry a grant forgotten",
		file: "coord/etcd/store.go",
		old:  "if !last.sent {",
		new:  "if true {",
		pkg:  "./coord/etcd", test: "TestLeaseOfALostGrantOutlivesACancel",
	},
	{
		name: "etcd: no doubt where nobody is",
		file: "internal/protocol/clocks.go",
		old:  "return now, true, err",
		new:  "return now, false, err",
		pkg:  "./coord/etcd", test: "TestFloorByAWrongClockThatWasAlone",
	},
	{
		name: "etcd: no doubt about a namespace made again",
		file: "internal/protocol/coordinator.go",
		old:  "if sv.Server == 0 && !c.set.OneMachine {",
		new:  "if false {",
		pkg:  "./coord/etcd", test: "TestFloorByAWrongClockThatWasAlone",
	},
	{
		name: "etcd: a long TTL stretches the reference",
		file: "internal/protocol/clocks.go",
		old:  "highs[len(highs)/2]}",
		new:  "highs[len(highs)-1]}",
		pkg:  "./coord/etcd", test: "TestOneLongTTL",
	},
}
