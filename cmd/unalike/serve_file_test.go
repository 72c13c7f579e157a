package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestServeBadFiles: each mistake in the file is named, without a password, and nothing is started.
func TestServeBadFiles(t *testing.T) {
	key := filepath.Join(t.TempDir(), "none")
	const static = "\ncoordinator: static://?worker=7"
	for _, tt := range [][2]string{
		{"", "the file is not a mapping; write lines of the form key: value"},
		{"listen: [", "this is not a valid file"},
		{
			"# a file\n\nlistn: x\nttll: 5s",
			"serve.yaml: line 3: unknown key \"listn\"; did you mean listen? Known are listen, " +
				"admin_listen, generators, store, ",
		},
		{static[1:] + "\n---\nlisten: x", "line 2: a second document begins here; a file has one"},
		{static + "\n---\n[", "this is not a valid file"},
		{"redis://u:secret@h/: x", "line 1: unknown key not shown"},
		{
			"# the lines\n\nttl: 5\nmax_count: 3\nstripes: -1\n",
			"config: line 3: ttl is \"5\": it is a positive duration " +
				"with a unit, for example 15s or 500ms; leave the key out for the default\nconfig: line " +
				"5: stripes is",
		},
		{
			"listen: x\n\ncoordinator: 'redis://u:${NO_SUCH}@h/ns'",
			"line 3: coordinator: ${NO_SUCH} refers",
		},
		{
			"generators:\n  a:\n    coordinator: 'static://?worker=7'\n    # why\n    ttl: 5\n",
			"a: config: line 5: ttl is",
		},
		{
			"\ngenerators:\n  a: {coordinator: 'static://?worker=7', ttl: 5}\n",
			"a: config: line 3: ttl is \"5\"",
		},
		{
			"generators:\n  a: &a {coordinator: 'static://?worker=7'}\n  b: *a\n  c:\n",
			"c: line 4: it has no settings",
		},
		{"listen: x\nlisten: y" + static, "line 2: listen is already set in line 1"},
		{"generators: {secret-word", "this is not a valid file: line 1: "},
		{
			"generators: 'secret word'",
			"line 1: generators is not " + "right; it is a mapping: {NAME: {coordinator: URL}}\n",
		},
		{"generators: {a: {ttl: 1s}}", "generators: a: it has no coordinator"},
		{
			"generators: {a: {coordinator: 'redis://u:secret-word@h:x/ns'}}",
			"generators: a: config: line 1: coordinator: ",
		},
		{"generators: {a: {tll: 1s}}", `a: config: line 1: unknown ` +
			`key "tll"; did you mean ttl?`},
		{
			"generators: {'a/b': {coordinator: 'static://?worker=7'}}",
			`generator's name "a/b" is not 1 to 64`,
		},
		{
			"generators: {a: {coordinator: 'static://?worker=7'}}\nttl: 1s",
			"settings of a single one beside them",
		},
		{
			"generators: {a: {coordinator: 'redis://u:${NO_SUCH}@h/ns'}}",
			"${NO_SUCH} refers to a variable that is not set",
		},
		{"store: secret-word", "store: "},
		{"listen: 127.0.0.1:1\n? [a]\n: 1\n", "line 2: a key that is no word"},
		{"store: mysql://u:${NO_SUCH}@h/ns", "store: ${NO_SUCH} refers to a variable that is not set"},
		{
			"tokens: [{file: x, may: [everything]}]",
			`tokens: number 1 may "everything"; generate and operate are known`,
		},
		{"tokens: [{file: x}]", "tokens: number 1 lacks file or may"},
		{"tokens: [{may: [generate]}]", "tokens: number 1 lacks file or may"},
		{
			"tokens: [{fil: x}]",
			`tokens: unknown key "fil"; did you mean file? Known are file, may, ` +
				`ids_per_second`,
		},
		{
			"tokens: x",
			`line 1: tokens: "x" is not right; it is a list: [{file: PATH, may: ` +
				`[generate]}]`,
		},
		{
			"\ntls:\n  crt: x",
			`line 3: tls: unknown key "crt"; did you mean cert? Known are cert, ` +
				`key, client_ca`,
		},
		{
			"listen: x\nmax_count: many\nmax_wait: 5\nhosts: {}",
			"line 2: max_count: \"many\" is not right; it is a whole number\n" + "line 3: max_wait: \"5\" " +
				"is not right; it is a duration with a unit, for example 30s\nline 4: " +
				"hosts is not right; it is a list",
		},
		{
			"max_connections: -1",
			"max_connections is -1; it is a whole number from 1 to 1000000, " + "or left out for 1000",
		},
		{
			"max_connection_age: 5ms",
			"max_connection_age is 5ms; it is a duration of 1s or more, or " + "left out for 10m0s",
		},
		{
			"max_reply_bytes: 5",
			"max_reply_bytes is 5; it is a whole number from 1048576 to " + "1099511627776, or left out",
		},
		{
			"max_wait: 2h" + static,
			"max_wait is 2h0m0s; it is a duration of up to 1h, or left " + "out for 30s",
		},
		{"max_count: 'a`secret-word'", "line 1: max_count is not right; it is a whole number\n"},
		{"ready: some", `ready is "some"; it is all or any`},
		{"access_log: some", `access_log is "some"; it is off, errors or all`},
		{
			"tokens: [{file: x, may: [generate], ids_per_second: -1}]",
			"number 1 has ids_per_second -1; it is a positive number",
		},
		{"admin_listen: nowhere\nlisten: 127.0.0.1:0" + static, "admin_listen: "},
		{"leaf: {may: operate}", "leaf: may is anyone, or generate"},
		{"leaf: {may: anyone}" + static, "give it the layout twitter, or another name"},
		{"tls: {cert: x}" + static, "tls: cert and key go together"},
		{"tls: {client_ca: x}" + static, "tls: client_ca needs cert and key"},
		{"tls: {cert: " + key + ", key: x}" + static, "tls: stat " + key + ": "},
		{"listen: nowhere" + static, "listening: "},
		{strings.Repeat("# much\n", 10_000), "the file has more than 65536 bytes"},
	} {
		file, want := tt[0], tt[1]
		name := writeFile(t, "serve.yaml", file)
		got := call(t, dataIn(t.TempDir()), "", "serve", "--config", name, "--log-level", "warn")
		if got.code == exitOK || !strings.Contains(got.stderr, want) ||
			strings.Contains(got.stderr, "secret") || got.out != "" {
			t.Errorf("%.60q: %+v\nwant %s", file, got, want)
		}
	}
}

// TestPlaceOf: two namespaces of one server have different names, and no name has a password or
// a host in it.
func TestPlaceOf(t *testing.T) {
	for rawURL, want := range map[string]string{
		"etcd://u:secret@e1,e2/orders":               "etcd:/orders",
		"redis://u:secret@h:6379/0?namespace=orders": "redis:/0?namespace=orders",
		"redis://h:6379/1?namespace=users&a=b":       "redis:/1?namespace=users",
		"static://?worker=7":                         "static:",
		"nothing":                                    "",
	} {
		if place := placeOf(rawURL); place != want {
			t.Errorf("%s: %q, want %q", rawURL, place, want)
		}
	}
}
