package mutants

// mendMutants bring faults back that were noticed once and left alone.
var mendMutants = []mutant{
	{
		name: "mend: a floor seen between two losses forgotten",
		file: "internal/protocol/loss.go",
		old:  "space.Floor, space.Base = max(space.Floor, meta.Floor), max(space.Base, meta.Base)\n",
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
	simulated("what is seen after a loss shows no second one", "loss.go",
		"\tif at.proofs != d.last.proofs {\n\t\treturn // it may be", "\tif d.lost != \"\" {\n\t\treturn // it may be"),
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
}
