package frozen

// simMutants break rules of the protocol. Those that name TestSimulation are found by it
// without a word about the rule.
var simMutants = []mutant{
	// What the drivers once did in different ways.
	{
		name: "protocol: a retired worker ID whose owner mark is gone is not retired again",
		file: "internal/protocol/decide.go",
		old:  "\tcase slot.Retired && v.Owned:\n",
		new:  "\tcase slot.Retired:\n",
		pkg:  "./internal/protocol", test: "TestPlanRetire",
	},
	{
		name: "protocol: a floor that was remembered forgotten after a loss",
		file: "internal/protocol/loss.go",
		old:  "\tcase d.lost == \"\":\n\t\td.space",
		new:  "\tcase d.last.meta != nil:\n\t\td.space",
		pkg:  "./internal/protocol", test: "TestForgottenFloor",
	},
	{
		name: "protocol: a floor that was remembered not honoured",
		file: "internal/protocol/floor.go",
		old:  "\t\tm.Floor = max(m.Floor, known.Floor)\n\t\tm.Base = max(m.Base, known.Base)\n",
		new:  "",
		pkg:  "./internal/protocol", test: "TestForgottenFloor",
	},
	{
		name: "protocol: the namespace remembered by acquisitions alone",
		file: "internal/protocol/coordinator.go",
		old:  "meta := &v.Meta",
		new:  "meta := (*Entry[Meta])(nil)",
		pkg:  "./internal/protocol", test: "TestEveryLookIsRemembered",
	},
	{
		name: "protocol: the namespace not remembered by acquisitions that fail",
		file: "internal/protocol/coordinator.go",
		old:  "c.detector.learn(at, sv.Position, &sv.Meta, now)",
		new:  "c.detector.learn(at, sv.Position, nil, now)",
		pkg:  "./internal/protocol", test: "TestEveryLookIsRemembered",
	},
	{
		name: "protocol: a token granted again below a raised floor",
		file: "internal/protocol/decide.go",
		old:  "\tcase slot.NotBefore < v.Meta.Record.Floor:\n",
		new:  "\tcase false:\n",
		pkg:  "./internal/protocol", test: "TestReplayBelowTheFloor",
	},
	{
		name: "protocol: no pause between lost races for a worker ID",
		file: "internal/protocol/acquire.go",
		old:  "ended := a.pause(ctx, n)",
		new:  "ended := a.pause(ctx, 0*n)",
		pkg:  "./internal/protocol", test: "TestLostRaces",
	},
	{
		name: "protocol: no pause between lost races of a holder",
		file: "internal/protocol/renew.go",
		old:  "h.pause(ctx, n-1)",
		new:  "h.pause(ctx, 0*n)",
		pkg:  "./internal/protocol", test: "TestLostRaces",
	},
	{
		name: "protocol: no pause between lost races of an operator",
		file: "internal/protocol/admin.go",
		old:  "ended := c.pause(ctx, n)",
		new:  "ended := c.pause(ctx, 0*n)",
		pkg:  "./internal/protocol", test: "TestLostRaces",
	},
	{
		name: "protocol: pauses without jitter",
		file: "internal/protocol/coordinator.go",
		old:  "lifetime.PauseBy(ctx, n, c.set.Random)",
		new:  "lifetime.PauseBy(ctx, n, func(limit int64) int64 { return limit / 2 })",
		pkg:  "./internal/protocol", test: "TestLostRaces",
	},
	{
		name: "protocol: why a race for a worker ID ended not said",
		file: "internal/protocol/acquire.go",
		old:  "err = fmt.Errorf(\"%w (%w)\", ended, err)",
		new:  "err = fmt.Errorf(\"%v (%w)\", ended, err)",
		pkg:  "./internal/protocol", test: "TestLostRaces",
	},
	{
		name: "protocol: why a race of an operator ended not said",
		file: "internal/protocol/admin.go",
		old:  "fmt.Errorf(\"%w (%w)\", ended, err)",
		new:  "fmt.Errorf(\"%v (%w)\", ended, err)",
		pkg:  "./internal/protocol", test: "TestLostRaces",
	},
	// What the simulation has found.
	{
		name: "protocol: a clock that is set meanwhile vouches for what was asked for",
		file: "internal/protocol/acquire.go",
		old:  "return a.asked + lifetime.Since(a.began).Microseconds()",
		new:  "return a.now()",
		pkg:  "./internal/protocol", test: "TestClockSetWhileAcquiring",
	},
	{
		name: "protocol: clocks of before a later loss lower its floor",
		file: "internal/protocol/heal.go",
		old:  "loss != since.loss {",
		new:  "false && loss != since.loss {",
		pkg:  "./internal/protocol", test: "TestDoubtOfAnEarlierLoss",
	},
}

// simulatedMutants are found by the simulation, which knows nothing of the rule that they
// break. Some it cannot find, because another rule makes up for them:
//
//   - A view or a survey of before a loss that is used: the record of the namespace that it
//     is compared with has another loss, and other commits come with the number of the write.
//   - A holder who is known by its token alone: no other one has the same, and its window
//     goes on from the stored NotBefore.
//   - A resumed grant with the former token: the generation keeps the dead holder out.
//   - A loss record that settles what was seen by who knew it: it was seen later than the
//     record was made, and clocks that are right within the bound tell that.
var simulatedMutants = []mutant{
	simulated("a release that lets go of what lies below the stored window", "slot.go",
		"s.NotAfter = min(s.NotAfter, max(last, s.NotBefore))", "s.NotAfter = min(s.NotAfter, last)"),
	simulated("a renewal that ignores where the stored window begins", "slot.go",
		"cut := max(floor, next.NotBefore); cut > g.NotAfter", "cut := floor; cut > g.NotAfter"),
	simulated("a renewal that ignores the floor", "slot.go",
		"cut := max(floor, next.NotBefore); cut > g.NotAfter", "cut := next.NotBefore; cut > g.NotAfter"),
	simulated("a floor that is compared with the stored window", "slot.go",
		"cut := max(floor, next.NotBefore); cut > g.NotAfter", "cut := max(floor, next.NotBefore); cut > next.NotAfter"),
	simulated("a renewal that shows a loss used", "renew.go",
		"\tcase unsound:\n", "\tcase false && unsound:\n"),
	simulated("a store that compares versions and no values", "memstore/session.go",
		"a.Version == b.Version && bytes.Equal(a.Raw, b.Raw)", "a.Version == b.Version || bytes.Equal(nil, b.Raw)"),
	simulated("evidence settled as if clocks were one", "floor.go",
		"margin := 2 *", "margin := 0 *"),
	simulated("evidence settled whenever it was seen", "floor.go",
		"return m.Loss.Floor > m.Ward(seen, maxHorizon, skewBound)+margin", "return m.Loss.Floor+0*margin > 0"),
	simulated("evidence settled by an operator's floor", "floor.go",
		"return m.Loss.Floor > m.Ward", "return m.Floor > m.Ward"),
	simulated("a known floor not stored again after a loss", "floor.go",
		"\tif known != nil && known.Fingerprint == m.Fingerprint {", "\tif false {"),
	simulated("a loss settled that has lost a known floor", "loss.go",
		"(k.Base > meta.Record.Base ||", "(false ||"),
	simulated("numbers that fall not noticed", "loss.go",
		"p.Number != 0 && (p.Number < at.position.Number ||", "p.Number != 0 && (false ||"),
	simulated("a floor without the bound of clocks", "meta.go",
		"s.TicksUp(maxHorizon.Microseconds()) + s.TicksUp(skewBound.Microseconds())", "s.TicksUp(maxHorizon.Microseconds())"),
	// 10 s is the horizon of the simulation's driver; some of its namespaces are declared with more.
	simulated("a floor by the driver's horizon alone", "floor.go",
		"max(m.Ward(now, maxHorizon, skewBound), 0)", "max(Reach(m.Scale(), now, min(maxHorizon, 10*time.Second), skewBound), 0)"),
	simulated("a floor lowered to the clock", "floor.go",
		"max(m.Ward(now, maxHorizon, skewBound), m.Base)", "max(m.Scale().Tick(now), m.Base)"),
	simulated("a floor lowered below an operator's", "floor.go",
		"max(m.Ward(now, maxHorizon, skewBound), m.Base)", "m.Ward(now, maxHorizon, skewBound)"),
	simulated("a window that begins below the floor", "candidate.go",
		"return max(c.Slot.NotAfter, floor)", "return c.Slot.NotAfter"),
	simulated("a window that begins below the last one's end", "candidate.go",
		"return max(c.Slot.NotAfter, floor)", "return max(floor, 0)"),
	simulated("a renewal as far ahead as is asked for", "declared.go",
		"return min(r.until, r.ward(server))", "return max(r.until, 0*r.ward(server))"),
	simulated("a window granted by a clock that was not compared", "decide.go",
		"\treturn stepPick, true\n", "\treturn stepPick, false\n"),
	simulated("a holder known by its generation alone", "slot.go",
		"s.Token == token && s.Generation == generation && token", "s.Generation == generation && token"),
}

// simulated is a mutant of internal/protocol that the simulation finds.
func simulated(what, file, before, after string) mutant {
	return mutant{
		name: "simulated: " + what, file: "internal/protocol/" + file, old: before, new: after,
		pkg: "./internal/protocol/sim", test: "TestSimulation",
	}
}
