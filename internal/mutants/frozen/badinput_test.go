package frozen

// badInputMutants let bad input pass, or goroutines stay.
var badInputMutants = []mutant{
	{
		name: "redis: a reply with ticks of no length is believed",
		file: "coord/redis/script.go",
		old:  "if err == nil && (v[0] < 0 || v[1] <= 0) {",
		new:  "if false {",
		pkg:  "./coord/redis", test: "TestUnknownReply",
	},
	{
		name: "coord: a host is listed with and without its port",
		file: "coord/url.go",
		old:  "if slices.Contains(all, h) {",
		new:  "if false {",
		pkg:  "./coord", test: "TestAddresses",
	},
	{
		name: "coord: a host that cannot be printed",
		file: "coord/url.go",
		old:  "case !utf8.ValidString(name) || strings",
		new:  "case !utf8.ValidString(name) && strings",
		pkg:  "./coord", test: "TestBadURL",
	},
	{
		name: "coord: a URL is printed without its escapes",
		file: "coord/url.go",
		old:  "strings.ReplaceAll((&url.URL{Path: u.Path}).EscapedPath(), \"@\", \"%40\")",
		new:  "u.Path",
		pkg:  "./coord", test: "TestURLString",
	},
	{
		name: "embedded: a mark without a field says that the folder was never in use",
		file: "coord/etcd/embedded/folder.go",
		old:  "if err == nil && !bytes.Equal(again, b) {",
		new:  "if err == nil && bytes.Equal(again, nil) {",
		pkg:  "./coord/etcd/embedded", test: "TestFolderRefused",
	},
	{
		name: "embedded: a later version is taken for damage",
		file: "coord/etcd/embedded/folder.go",
		old:  "head.Version != formatVersion {",
		new:  "false {",
		pkg:  "./coord/etcd/embedded", test: "TestFolderRefused",
	},
	{
		name: "static: a layout of 31 worker bits cannot be resumed",
		file: "coord/static/resume.go",
		old:  "worker < 32 {",
		new:  "worker < 31 {",
		pkg:  "./coord/static", test: "FuzzFingerprint",
	},
	{
		name: "leaktest: what is left behind is no failure",
		file: "internal/leaktest/leaktest.go",
		old:  "\t\treturn 1\n",
		new:  "\t\treturn 0\n",
		pkg:  "./internal/leaktest", test: "TestPlanted",
	},
	{
		name: "leaktest: nothing is waited for",
		file: "internal/leaktest/leaktest.go",
		old:  "if err == nil || time.Now().After(deadline) {",
		new:  "if deadline.After(time.Time{}) {",
		pkg:  "./internal/leaktest", test: "TestPatience",
	},
	{
		name: "leaktest: anything may stay",
		file: "internal/leaktest/leaktest.go",
		old:  "err := goleak.Find(options...)",
		new:  "err := goleak.Find(append(options, goleak.IgnoreCurrent())...)",
		pkg:  "./internal/leaktest", test: "TestPlanted",
	},
}
