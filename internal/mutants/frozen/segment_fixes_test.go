package frozen

// segmentFixMutants are mistakes with numbers of segments that were found in this library, and are mended.
var segmentFixMutants = []mutant{
	{
		name: "segment: the rate is that of the present segment alone",
		file: "segment/pace.go",
		old:  "if f.used += size; now.Sub(f.since) >= leastTime {",
		new:  "if f.used += size; now.Sub(f.since) >= 0 {",
		pkg:  "./segment", test: "TestShortHold",
	},
	{
		name: "segment: what was used in a moment lowers the rate",
		file: "segment/pace.go",
		old:  "rate > f.rate || took >= leastTime {",
		new:  "rate > f.rate || took >= 0 {",
		pkg:  "./segment", test: "TestShortHold",
	},
	{
		name: "segment etcd: a client that waits before it connects is left to",
		file: "internal/etcdclient/connect.go",
		old:  "if r.failed.Swap(false) {",
		new:  "if r.failed.Swap(false) && client == nil {",
		pkg:  "./segment/etcd", test: "TestComesBack",
	},
	{
		name: "etcdclient: a client of ours waits longer and longer before it connects",
		file: "internal/etcdclient/client.go",
		old:  "grpc.WithConnectParams(connecting)",
		new:  "grpc.WithUserAgent(\"\")",
		pkg:  "./internal/etcdclient", test: "TestConnects",
	},
	{
		name: "segment mysql: a commit does not end with its context",
		file: "segment/mysql/db.go",
		old:  "_, err = exec(\"COMMIT\")\n",
		new:  "_, err = conn.ExecContext(context.WithoutCancel(ctx), \"COMMIT\")\n",
		pkg:  "./segment/mysql", test: "TestFaults", hangs: true,
	},
	{
		name: "segment postgres: a rollback does not end with its context",
		file: "segment/postgres/db.go",
		old:  "tx.Rollback(ctx)",
		new:  "tx.Rollback(context.WithoutCancel(ctx))",
		pkg:  "./segment/postgres", test: "TestFaults", hangs: true,
	},
	{
		name: "segment: refills wait for who is told that they fail",
		file: "segment/refill.go",
		old:  "s.running.Go(s.announce)",
		new:  "s.announce()",
		pkg:  "./segment", test: "TestSlowOnChange",
	},
	{
		name: "segment: a tag is looked for in the list as it was asked for alone",
		file: "segment/refill.go",
		old:  "if i < 0 { // there are",
		new:  "if i < -1 { // there are",
		pkg:  "./segment", test: "TestCaseless",
	},
	{
		name: "segment postgres: a range is handed out of one of two rows",
		file: "internal/sqlsegment/store.go",
		old:  "if changed <= 1 {",
		new:  "if changed <= 2 {",
		pkg:  "./segment/postgres", test: "TestTwoRows",
	},
}
