package frozen

// review1Mutants bring back faults that a review of renewals under way together found.
var review1Mutants = []mutant{
	{
		name: "late reply taken for a wrong clock",
		file: "internal/keeper/renew.go",
		old:  "\tif r.until < now {\n\t\twhy = ErrLate\n\t}\n",
		new:  "",
		pkg:  "./internal/keeper", test: "TestRepliesThatComeTooLateAreNotTakenForAWrongClock",
	},
	{
		name: "late replies said to need a correction",
		file: "core/errors.go",
		old:  "\tif errors.Is(cause, keeper.ErrLate) {",
		new:  "\tif false {",
		pkg:  "./core", test: "TestRepliesThatComeTooLateAreNamed",
	},
	{
		name: "deadline of a slow success kept in an outage",
		file: "internal/keeper/deadline.go",
		old:  "max(d.most, min(d.took*3/2, d.wait))",
		new:  "max(d.most, d.wait)",
		pkg:  "./internal/keeper", test: "TestServiceResumesSoonAfterAnOutageOfASlowCoordinator",
	},
	{
		name: "deadline cut below the latency by a time-out",
		file: "internal/keeper/deadline.go",
		old:  "max(d.most, min(d.took*3/2, d.wait))",
		new:  "d.most",
		pkg:  "./internal/keeper", test: "TestDeadlineFollowsTimeOutsAndLatency",
	},
	{
		name: "quarantine asked about without a pause",
		file: "internal/keeper/renew.go",
		old:  "\tif !ok {\n\t\treturn pause\n\t}\n\treached",
		new:  "\tif ok || !ok {\n\t\treturn pause\n\t}\n\treached",
		pkg:  "./internal/keeper", test: "TestQuarantineIsAskedAboutAsSeldomAsALease",
	},
	{
		name: "end of a quarantine noticed late",
		file: "internal/keeper/renew.go",
		old:  "min(jitter(every), min(reached, every)+pause)",
		new:  "jitter(every)+0*reached",
		pkg:  "./internal/keeper", test: "TestQuarantineIsAskedAboutAsSeldomAsALease",
	},
	{
		name: "ID of the term before not counted as stamped",
		file: "core/stripe.go",
		old:  "word != t.start || t.carried",
		new:  "word != t.start",
		pkg:  "./core", test: "TestStepBackBehindTheTermBeforeIsHealed",
	},
	{
		name: "start that waits reckons with a clock that is set",
		file: "internal/keeper/start.go",
		old:  "\treturn time.Now().Before(s.held)\n",
		new:  "\treturn s.now().Before(full.Soonest.Add(grace))\n",
		pkg:  "./internal/keeper", test: "TestStartWaitsNoLongerForAClockThatIsSet",
	},
	{
		name: "skew waited for by a clock that is set",
		file: "internal/keeper/start.go",
		old:  "goesOn = time.Now().Before(s.skewed)",
		new:  "goesOn = s.now().Before(skew.Until.Add(grace))",
		pkg:  "./internal/keeper", test: "TestStartWaitsNoLongerForAClockThatIsSet",
	},
	{
		name: "first renewal an interval after the reply",
		file: "internal/keeper/acquire.go",
		old:  "jitter(k.cfg.Lease.RenewEvery) - k.acquisitions.took)",
		new:  "jitter(k.cfg.Lease.RenewEvery))",
		pkg:  "./internal/keeper", test: "TestSlowAcquisitionIsFollowedByARenewalInTime",
	},
	{
		name: "acquisition that is cut off not told",
		file: "internal/keeper/release.go",
		old:  "k.token != \"\" && k.hurry.Err() != nil",
		new:  "false",
		pkg:  "./internal/keeper", test: "TestStopTellsOfAnAcquisitionThatItCutsOff",
	},
}
