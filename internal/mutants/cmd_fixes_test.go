package mutants

// cmdFixMutants break what the command does for leases that stand still and for floors
// that a mistake has raised.
var cmdFixMutants = []mutant{
	{
		name: "cmd: dead holders are not waited for",
		file: "cmd/unalike/deadholders.go",
		old:  "if !ok || !dead.worthWaiting(held.Slots, time.Now()) {",
		new:  "if !ok || !dead.worthWaiting(held.Slots, time.Now()) || true {",
		pkg:  "./cmd/unalike", test: "TestMoveAwayFromTheDead",
	},
	{
		name: "cmd: holders that live are waited for",
		file: "cmd/unalike/deadholders.go",
		old:  "case !known || !before.Equal(s.Renewed):",
		new:  "case !known:",
		pkg:  "./cmd/unalike", test: "TestWorthWaiting",
	},
	{
		name: "cmd: a floor for years without a question",
		file: "cmd/unalike/quarantine.go",
		old:  "case given && ahead > farAhead && !o.far:",
		new:  "case false:",
		pkg:  "./cmd/unalike", test: "TestQuarantineFlags",
	},
	{
		name: "record: a loss that was known settles new evidence",
		file: "internal/record/floor.go",
		old:  "m.Loss.Nonce != known && ",
		new:  "(m.Loss.Nonce != known || true) && ",
		pkg:  "./internal/record", test: "TestSettles",
	},
	{
		name: "record: a loss settles what was seen after it",
		file: "internal/record/floor.go",
		old:  "m.Loss.Floor >= m.Ward(seen, maxHorizon, skewBound)",
		new:  "(m.Loss.Floor >= m.Ward(seen, maxHorizon, skewBound) || true)",
		pkg:  "./internal/record", test: "TestSettles",
	},
	{
		name: "record: an operator's floor settles a loss",
		file: "internal/record/floor.go",
		old:  "m.Loss.Floor >= m.Ward(seen, maxHorizon, skewBound)",
		new:  "m.Floor >= m.Ward(seen, maxHorizon, skewBound)",
		pkg:  "./internal/record", test: "TestSettles",
	},
	{
		name: "record: a known floor is forgotten at a loss",
		file: "internal/record/floor.go",
		old:  "m.Floor = max(m.Floor, known.Floor)",
		new:  "_ = known.Floor",
		pkg:  "./internal/record", test: "TestAfterLoss",
	},
	{
		name: "record: a wrong clock closes a namespace",
		file: "internal/record/floor.go",
		old:  "m.Floor = max(m.Floor, min(tick, m.LastTick-1))",
		new:  "m.Floor = max(m.Floor, tick)",
		pkg:  "./internal/record", test: "TestAfterLoss",
	},
	{
		name: "record: any clock raises a floor",
		file: "internal/record/floor.go",
		old:  "return min(max(now, low-bound.Microseconds()), high+bound.Microseconds())",
		new:  "return max(now, low-bound.Microseconds())",
		pkg:  "./internal/record", test: "TestClocks",
	},
	{
		name: "record: a floor is lowered below its base",
		file: "internal/record/floor.go",
		old:  "max(m.Ward(now, maxHorizon, skewBound), m.Base))",
		new:  "m.Ward(now, maxHorizon, skewBound))",
		pkg:  "./internal/record", test: "TestQuarantineAndLower",
	},
	{
		name: "record: a lowered floor leaves the loss as it was",
		file: "internal/record/floor.go",
		old:  "\tm.Loss.Floor = min(m.Loss.Floor, m.Floor)\n",
		new:  "",
		pkg:  "./internal/record", test: "TestQuarantineAndLower",
	},
	{
		name: "record: unknown fields are dropped",
		file: "internal/record/meta_codec.go",
		old:  "m.unknown = unknown.String()",
		new:  "_ = unknown.String()",
		pkg:  "./internal/record", test: "TestUnknownFieldsAreKept",
	},
}
