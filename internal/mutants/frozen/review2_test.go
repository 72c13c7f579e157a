package frozen

// review2Mutants bring back faults that a second look at the coordinators has found.
var review2Mutants = []mutant{
	{
		name: "redis: quarantine protects from losses in it",
		file: "coord/redis/lua/namespace.lua",
		old:  "return tick(meta, now) <= meta.loss.floor and meta.loss.nonce ~= name and seen <= meta.loss.found",
		new:  "return tick(meta, now) <= meta.loss.floor",
		pkg:  "./coord/redis", test: "TestLossInAQuarantine",
	},
	{
		name: "redis: loss that was shown in its quarantine has another one",
		file: "coord/redis/lua/namespace.lua",
		old:  " or g.explained ~= '' and g.explained == meta.loss.nonce then",
		new:  " then",
		pkg:  "./coord/redis", test: "TestOneQuarantine",
	},
}
