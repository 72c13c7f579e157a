package frozen

// eyesMutants are mistakes in what is told of waits and changes, and in how long the tool waits.
var eyesMutants = []mutant{
	{
		name: "what is told is newer than what was seen",
		file: "core/observer.go",
		old:  "; slices.Equal(now, o.conditions()) {\n",
		new:  "; true {\n",
		pkg:  "./core", test: "TestOnChangeTellsNothingTwice",
	},
	{
		name: "opening a coordinator has no end",
		file: "cmd/unalike/namespace.go",
		old:  "	opening := &asker{waits: a.waits, tell: tell}\n",
		new:  "	opening := &asker{waits: waits{1 << 40, a.quiet}, tell: tell}\n",
		pkg:  "./cmd/unalike", test: "TestTimeoutBoundsTheOpening",
	},
	{
		name: "look before a start has no part in its timeout",
		file: "cmd/unalike/generate.go",
		old:  "max(a.answer-time.Since(began), time.Millisecond)",
		new:  "max(a.answer, time.Since(began))",
		pkg:  "./cmd/unalike", test: "TestTimeoutBoundsAStartWithItsWait",
	},
	{
		name: "long look whether anybody is there",
		file: "cmd/unalike/presence.go",
		old:  "dialTime = 200 * time.Millisecond",
		new:  "dialTime = 300 * time.Millisecond",
		pkg:  "./cmd/unalike", test: "TestLookIsShort",
	},
	{
		name: "start that gives up says that it tries again",
		file: "internal/keeper/start.go",
		old:  "if goesOn && ctx.Err() == nil &&",
		new:  "if",
		pkg:  "./internal/keeper", test: "TestStartThatGivesUpSaysNothingOfTryingAgain",
	},
	{
		name: "end of a start's context not told",
		file: "internal/keeper/start.go",
		old:  "	k.bound, _ = ctx.Deadline()\n",
		new:  "",
		pkg:  "./internal/keeper", test: "TestStartSaysWhenItsContextEndsIt",
	},
	{
		name: "time told at which nothing ends",
		file: "internal/keeper/announce.go",
		old:  "k.cfg.StartTimeout < 0 || ",
		new:  "",
		pkg:  "./internal/keeper", test: "TestStartWithoutEndSaysSoAlsoWhereClocksDiffer",
	},
	{
		name: "worker ID not released where there was none",
		file: "internal/keeper/keeper.go",
		old:  "		if !k.leased.Load() {\n",
		new:  "		if false {\n",
		pkg:  "./internal/keeper", test: "TestStopOfABeginningInVainNamesNoWorkerID",
	},
	{
		name: "Close beside another waits past its context",
		file: "core/generator.go",
		old:  "		case <-ctx.Done():\n\t\t\treturn fmt.Errorf(\"core: closing",
		new:  "		case <-context.Background().Done():\n\t\t\treturn fmt.Errorf(\"core: closing",
		pkg:  "./core", test: "TestCloseBesideAnotherEndsWithItsContext",
	},
	{
		name: "empty flag taken for one that is left out",
		file: "cmd/unalike/namespace.go",
		old:  "f != nil && f.Changed && f.Value",
		new:  "f != nil && !f.Changed && f.Value",
		pkg:  "./cmd/unalike", test: "TestEmptyFlags",
	},
	{
		name: "serve names no variable that is mistyped",
		file: "cmd/unalike/serve_file.go",
		old:  "	a.warnOfMistyped()\n",
		new:  "",
		pkg:  "./cmd/unalike", test: "TestServeNamesVariables",
	},
}
