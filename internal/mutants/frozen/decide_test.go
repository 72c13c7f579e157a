package frozen

// decideMutants break what is decided without a back end, in internal/protocol.
var decideMutants = []mutant{
	{
		name: "protocol: a resumed grant keeps its generation",
		file: "internal/protocol/decide.go",
		old:  "slot = slot.Resumed(token)",
		new:  "slot.Token = token",
		pkg:  "./internal/protocol", test: "FuzzWindows",
	},
	{
		name: "protocol: a window begins where the last one began",
		file: "internal/protocol/candidate.go",
		old:  "return max(c.Slot.NotAfter, floor)",
		new:  "return max(c.Slot.NotBefore, floor)",
		pkg:  "./internal/protocol", test: "FuzzWindows",
	},
	{
		name: "protocol: a release that trims what was stamped",
		file: "internal/protocol/slot.go",
		old:  "s.NotAfter = min(s.NotAfter, max(last, s.NotBefore))",
		new:  "s.NotAfter = s.NotBefore",
		pkg:  "./internal/protocol", test: "FuzzWindows",
	},
	{
		name: "protocol: a piece that begins below the floor",
		file: "internal/protocol/slot.go",
		old:  "from, next.NotBefore = cut, cut",
		new:  "from, next.NotBefore = g.NotAfter, cut",
		pkg:  "./internal/protocol", test: "FuzzWindows",
	},
	{
		name: "protocol: a damaged slot tried again and again",
		file: "internal/protocol/decide.go",
		old:  "case damaged && out.Conflict == ConflictSlot:",
		new:  "case false:",
		pkg:  "./internal/protocol", test: "TestPlanRefusal",
	},
	{
		name: "protocol: a token's stray mark taken for a grant",
		file: "internal/protocol/decide.go",
		old:  "case slot.Token != token:",
		new:  "case false:",
		pkg:  "./internal/protocol", test: "TestPlanAgain",
	},
	{
		name: "protocol: a full namespace searched",
		file: "internal/protocol/decide.go",
		old:  "case len(sv.Owned) >= req.Workers.Count:",
		new:  "case false:",
		pkg:  "./internal/protocol", test: "TestPlanAcquisition",
	},
}
