package mutants

// mendMutants bring faults back that were noticed once and left alone.
var mendMutants = []mutant{
	{
		name: "mend: a floor seen between two losses forgotten",
		file: "internal/protocol/loss.go",
		old:  "\t\tspace.Base = max(space.Base, meta.Base)\n",
		new:  "",
		pkg:  "./internal/protocol", test: "TestFloorSeenBetweenLosses",
	},
	{
		name: "mend: what is seen after a loss shows no second one",
		file: "internal/protocol/loss.go",
		old:  "\tif at.proofs != d.last.proofs {\n\t\treturn // it may be",
		new:  "\tif d.lost != \"\" {\n\t\treturn // it may be",
		pkg:  "./internal/protocol", test: "TestSeenBetweenLosses",
	},
	simulated("a floor seen between two losses forgotten", "loss.go",
		"\t\tspace.Base = max(space.Base, meta.Base)\n", ""),
	{
		name: "mend: an answer of before a proof taken for one of after it",
		file: "internal/protocol/loss.go",
		old:  "\tif at.proofs != d.last.proofs {\n\t\treturn // it may be",
		new:  "\tif false {\n\t\treturn // it may be",
		pkg:  "./internal/protocol", test: "TestLateAnswerAfterAProof",
	},
	{
		name: "mend: the answer that proves a loss not taken for seen",
		file: "internal/protocol/loss.go",
		old:  "at.proofs == d.last.proofs && !at.proof {",
		new:  "at.proofs == d.last.proofs {",
		pkg:  "./internal/protocol", test: "TestProofIsSeen",
	},
	{
		name: "mend: a floor that was lowered raised again after a loss",
		file: "internal/protocol/floor.go",
		old:  "m.Floor = max(m.Floor, ward, m.Base)",
		new:  "m.Floor = max(m.Held(known).Floor, ward, m.Base)",
		pkg:  "./internal/protocol", test: "TestLoweredFloorStaysLowered",
	},
	{
		name: "mend: a floor that was lowered raised again with the namespace",
		file: "internal/protocol/heal.go",
		old:  "\t\t\tif !doubtful {\n",
		new:  "\t\t\tif !doubtful && false {\n",
		pkg:  "./internal/protocol", test: "TestLoweredFloorStaysLowered",
	},
	{
		name: "mend: a floor that was lowered missed in a loss that was dealt with",
		file: "internal/protocol/loss.go",
		old:  " && !settles(d.floorSeen.loss, d.floorSeen.seen)",
		new:  "",
		pkg:  "./internal/protocol", test: "TestLoweredFloorIsNotMissed",
	},
	{
		name: "mend: a floor missed by nobody",
		file: "internal/protocol/loss.go",
		old:  " || k.Floor > meta.Record.Floor && !settles(d.floorSeen.loss, d.floorSeen.seen)",
		new:  "",
		pkg:  "./internal/protocol", test: "TestEachProofIsSettled",
	},
	{
		name: "mend: a known floor not held by a clock that may be behind",
		file: "internal/protocol/heal.go",
		old:  "\t\tnext = next.Held(known)\n",
		new:  "",
		pkg:  "./internal/protocol", test: "TestKnownFloorHeldInDoubt",
	},
	{
		name: "mend: the floor of a namespace that is gone not held by a clock that may be behind",
		file: "internal/protocol/heal.go",
		old:  "\t\t\tif !doubtful {\n",
		new:  "\t\t\tif !doubtful || true {\n",
		pkg:  "./internal/protocol", test: "TestKnownFloorHeldInDoubt",
	},
}
