package mutants

// eyesMutants break what lies between two calls of one operation, in internal/protocol.
var eyesMutants = []mutant{
	{
		name: "protocol: a change judged by what was known when it was made",
		file: "internal/protocol/coordinator.go",
		old:  "c.detector.sound(change.Before.era)",
		new:  "c.detector.sound(at.era)",
		pkg:  "./internal/protocol", test: "TestChangeOfAnEarlierEra",
	},
	{
		name: "protocol: an answer to a request that was made before anything was known teaches nothing",
		file: "internal/protocol/loss.go",
		old:  "if at.meta == nil && d.meta != nil",
		new:  "if false && d.meta != nil",
		pkg:  "./internal/protocol", test: "TestSurveyFromBeforeANamespaceWasKnown",
	},
	{
		name: "protocol: a floor lowered before a loss was dealt with",
		file: "internal/protocol/heal.go",
		old:  "if c.detector.loss() != \"\" && !c.settled(",
		new:  "if false && !c.settled(",
		pkg:  "./internal/protocol", test: "TestDoubtIsNoSettlement",
	},
	{
		name: "protocol: a session that lasts as long as others do",
		file: "internal/protocol/renew.go",
		old:  "if r.known == nil && !r.lasts(",
		new:  "if false && !r.lasts(",
		pkg:  "./internal/protocol", test: "TestResumedLeaseLastsAsLongAsAsked",
	},
	{
		name: "protocol: a renewal's session without room",
		file: "internal/protocol/renew.go",
		old:  "c.enter(token, ttl, visitRoom)",
		new:  "c.enter(token, ttl, 0)",
		pkg:  "./internal/protocol", test: "TestReopenedSessionHasRoom",
	},
	{
		name: "protocol: a session without room in place of another",
		file: "internal/protocol/tenant.go",
		old:  "c.store.Open(t.token, t.ttl, t.workers)",
		new:  "c.store.Open(t.token, t.ttl, 0)",
		pkg:  "./internal/protocol", test: "TestReopenedSessionHasRoom",
	},
	{
		name: "protocol: no worker ID because that of the identity is damaged",
		file: "internal/protocol/acquire.go",
		old:  "!errors.Is(err, errTaken) && !errors.Is(err, errUnfit) {",
		new:  "!errors.Is(err, errTaken) {",
		pkg:  "./internal/protocol", test: "TestDamagedSlotOfAnIdentity",
	},
	{
		name: "etcd: a namespace's record known by its revision alone",
		file: "coord/etcd/commit.go",
		old:  "if before.Meta.There() {",
		new:  "if false {",
		pkg:  "./coord/etcd", test: "TestRevisionThatComesAgain",
	},
	{
		name: "etcd: another namespace's record taken for a slot that was taken",
		file: "coord/etcd/commit.go",
		old:  " && bytes.Equal(v.Meta.Raw, c.change.Before.Meta.Raw) {",
		new:  " && (true || bytes.Equal(nil, nil)) {",
		pkg:  "./coord/etcd", test: "TestRevisionThatComesAgain",
	},
	{
		name: "zk: the first grant of a worker ID without a number",
		file: "coord/zk/commit.go",
		old:  "c.ops = append(c.ops, &client.SetDataRequest{Path: n.clock(), Version: -1})",
		new:  "_ = n",
		pkg:  "./coord/zk", test: "TestGrantHasANumber",
	},
	{
		name: "zk: no hint after the answer to the request for a watch was lost",
		file: "coord/zk/commit.go",
		old:  "			continue // there will be another connection\n",
		new:  "			return false\n",
		pkg:  "./coord/zk", test: "TestHintAfterALostWatch",
	},
	{
		name: "protocol: a floor that is not lowered because an answer was lost",
		file: "internal/protocol/heal.go",
		old:  "if c.detector.loss() != \"\" && !c.settled(sv, c.seen(s)) {",
		new:  "if c.detector.loss() != \"\" {",
		pkg:  "./internal/protocol", test: "TestDoubtAfterALostRaise",
	},
}
