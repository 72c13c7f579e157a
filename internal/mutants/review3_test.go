package mutants

// review3Mutants bring back faults that a review of package etcd found.
var review3Mutants = []mutant{
	{
		name: "etcd: a floor lowered when others are gone",
		file: "coord/etcd/amnesia.go",
		old:  "\tif err != nil || len(alive) < quorum {\n\t\treturn err // too early to tell\n\t}\n",
		new:  "\tif err != nil || len(c.others(ns.held)) >= quorum && len(alive) < quorum {\n\t\treturn err\n\t}\n\tif len(alive) < quorum {\n\t\talive = []holder{{ownerRecord: ownerRecord{Renewed: c.now()}}}\n\t}\n",
		pkg:  "./coord/etcd", test: "TestFloorStaysWhenOthersVanish",
	},
	{
		name: "etcd: a floor lowered to the earlier of two clocks",
		file: "coord/etcd/amnesia.go",
		old:  "\t_, now := reference(alive, monotonic().Sub(since.when))\n",
		new:  "\tnow, _ := reference(alive, monotonic().Sub(since.when))\n",
		pkg:  "./coord/etcd", test: "TestFloorIsNotLoweredByTheWrongOneOfTwo",
	},
	{
		name: "etcd: a floor lowered below what this clock demands",
		file: "coord/etcd/amnesia.go",
		old:  "\tif !since.mine {\n",
		new:  "\tif false {\n",
		pkg:  "./coord/etcd", test: "TestFloorIsNotLoweredByTheWrongOneOfTwo",
	},
	{
		name: "etcd: a floor is not lowered by one who may not acquire",
		file: "coord/etcd/acquire.go",
		old:  "\tif err := a.settleDoubt(ctx); err != nil {\n\t\treturn nil, err\n\t}\n",
		new:  "",
		pkg:  "./coord/etcd", test: "TestFloorByAWrongClockThatHoldsNothing",
	},
	{
		name: "etcd: a floor is lowered by the one only who raised it",
		file: "coord/etcd/renew.go",
		old:  "\tif r.floored {\n\t\tr.question(r.v)\n\t}\n",
		new:  "",
		pkg:  "./coord/etcd", test: "TestFloorByAWrongClockThatIsGone",
	},
	{
		name: "etcd: a doubt lost with a reply",
		file: "coord/etcd/amnesia.go",
		old:  "\tif doubtful { // before it is written: the reply may be lost\n",
		new:  "\tdefer func() {\n\t\tif !done {\n\t\t\tc.memory.setDoubt(doubt{})\n\t\t}\n\t}()\n\tif doubtful {\n",
		pkg:  "./coord/etcd", test: "TestLostReplyOnRaise",
	},
	{
		name: "etcd: a lease put back with a lost reply is revoked",
		file: "coord/etcd/renew.go",
		old:  "if r.v != nil && r.v.lease == r.spare {",
		new:  "if r.v == nil {",
		pkg:  "./coord/etcd", test: "TestLostReplyOnResume",
	},
	{
		name: "etcd: a lease that may carry a grant forgotten",
		file: "coord/etcd/attempts.go",
		old:  "\tkept.ready = false\n",
		new:  "\tkept.ready, kept.sent = false, false\n",
		pkg:  "./coord/etcd", test: "TestLeaseOfALostGrantOutlivesACancel",
	},
	{
		name: "etcd: no doubt where nobody is",
		file: "coord/etcd/amnesia.go",
		old:  "return now, !c.opts.OneMachine, err",
		new:  "return now, false, err",
		pkg:  "./coord/etcd", test: "TestFloorByAWrongClockThatWasAlone",
	},
	{
		name: "etcd: no doubt about a namespace made again",
		file: "coord/etcd/survey.go",
		old:  "if !a.opts.OneMachine {",
		new:  "if false {",
		pkg:  "./coord/etcd", test: "TestFloorByAWrongClockThatWasAlone",
	},
	{
		name: "etcd: a long TTL stretches the reference",
		file: "coord/etcd/skew.go",
		old:  "highs[len(highs)/2]",
		new:  "highs[len(highs)-1]",
		pkg:  "./coord/etcd", test: "TestOneLongTTL",
	},
}
