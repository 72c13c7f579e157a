package frozen

// toyMutants are mistakes in a store that the conformance suite does not notice, because the
// coordinator looks again where a store is wrong, or because the suite lets no time pass.
var toyMutants = []mutant{
	{
		name: "toy: a second worker ID for a token",
		file: "internal/protocol/toystore/toystore.go",
		old:  "c.Token != c.Replaced && s.workerOf",
		new:  `c.Replaced == "" && s.workerOf`,
		pkg:  "./internal/protocol/toystore", test: "TestStore",
	},
	{
		name: "toy: a used namespace is declared new",
		file: "internal/protocol/toystore/toystore.go",
		old:  "c.Unused && len(s.slots)+len(s.marks) > 0",
		new:  "c.Unused && len(s.slots) < 0",
		pkg:  "./internal/protocol/toystore", test: "TestStore",
	},
	{
		name: "toy: a renewal keeps no lease alive",
		file: "internal/protocol/toystore/toystore.go",
		old:  "m != nil && c.Slot != nil {",
		new:  "m != nil && c.Slot == nil {",
		pkg:  "./internal/protocol/toystore", test: "TestStore",
	},
	{
		name: "toy: leases never end",
		file: "internal/protocol/toystore/toystore.go",
		old:  "if m.end <= s.clock.UnixMicro() {",
		new:  "if m.end <= 0 {",
		pkg:  "./internal/protocol/toystore", test: "TestStore",
	},
	{
		name: "toy: owners outside of the share",
		file: "internal/protocol/toystore/toystore.go",
		old:  "ask.Share.Count == 0 || n >= 0 && n < ask.Share.Count",
		new:  "ask.Share.Count >= 0 || n >= 0",
		pkg:  "./internal/protocol/toystore", test: "TestStore",
	},
	{
		name: "toy: a retired worker ID has a holder",
		file: "internal/protocol/toystore/toystore.go",
		old:  `if s.marks[id].token != "" {`,
		new:  "if s.marks[id] != nil {",
		pkg:  "./internal/protocol/toystore", test: "TestStore",
	},
	{
		name: "toy: a list of free worker IDs",
		file: "internal/protocol/toystore/toystore.go",
		old:  "Meta: s.meta, Owned: slices.Sorted(maps.Keys(s.marks))}",
		new:  "Meta: s.meta}",
		pkg:  "./internal/protocol/toystore", test: "TestStore",
	},
	{
		name: "toy: a watch of no lease",
		file: "internal/protocol/toystore/toystore.go",
		old:  "if m == nil {\n\t\treturn true\n\t}",
		new:  "if m == nil {\n\t\treturn false\n\t}",
		pkg:  "./internal/protocol/toystore", test: "TestStore",
	},
}
