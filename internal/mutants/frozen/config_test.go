package frozen

// configMutants are about the settings of segments.
var configMutants = []mutant{
	{
		name: "config: the store stays open behind an error",
		file: "config/segments.go",
		old:  "errors.Join(c.ofSegments(keyStore, err), store.Close())",
		new:  "c.ofSegments(keyStore, err)",
		pkg:  "./config", test: "TestOpenSegmentsErrors",
	},
	{
		name: "config: tags that are missing are found when they are asked for",
		file: "config/segments.go",
		old:  "if len(missing) > 0 {",
		new:  "if len(missing) > 2 {",
		pkg:  "./config", test: "TestOpenSegmentsErrors",
	},
	{
		name: "config: named tags have no numbers yet",
		file: "config/segments.go",
		old:  "\t\t\terr = q.Ready(ctx)\n",
		new:  "\t\t\t_ = q\n",
		pkg:  "./config", test: "TestOpenSegments",
	},
	{
		name: "config: what was taken is not given back behind an error",
		file: "config/segments.go",
		old:  "errors.Join(c.ofSegments(keySegments, err), all.Close(tidy))",
		new:  "errors.Join(c.ofSegments(keySegments, err), store.Close(), tidy.Err())",
		pkg:  "./config", test: "TestOpenSegmentsWaits",
	},
	{
		name: "config: the password of the store stays a reference",
		file: "config/env.go",
		old:  "\t\tif s.url == nil {\n\t\t\tcontinue\n",
		new:  "\t\tif s.url == nil || s.key == keyStore {\n\t\t\tcontinue\n",
		pkg:  "./config", test: "TestSecretOfStore",
	},
}
