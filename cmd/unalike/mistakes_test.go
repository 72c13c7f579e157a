package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMistakes: what is mistyped is refused with what was meant, and with the exit code 2 of a mistake on the command line.
func TestMistakes(t *testing.T) {
	for _, tc := range []struct {
		args string
		code int
		says string
	}{
		{"generate --cuont 3", 2, "unknown flag: --cuont; did you mean --count?"},
		{"decode --jsom 3", 2, "did you mean --json?"},
		{"generate --layout twiter", 2, "did you mean twitter?"},
		{"generate --coordinator static://?worker=7&stat=/x", 2, `unknown option "stat"; known are count, fresh, horizon, namespace, renew, state, ttl, worker; did you mean state?`},
		{"generate --coordinator postgresql://a:b@h/d", 2, "invalid postgresql URL: there is no namespace"},
		{"generate --coordinator postgresql://a:b@h/d?namespace=n&sslmode=disable", 2, `option "sslmode" is of other clients; leave it out, and write postgress:// for TLS or postgres:// for none`},
		{"generate --coordinator mariadb://a:b@h/d", 2, "write mariadb://user:password@host:3306/database?namespace=name"},
		{"generate --segment a --store mariadb://h/d", 2, "write mariadb://user:password@host:3306/database"},
		{"completion bsh", 2, `unknown command "bsh"; did you mean unalike completion bash?`},
		{"segments --store mysql://h/x", 2, "there is no user"},
		{"retire 3 --generator orders --yes", 2, "--generator names a generator of the file that --config names"},
		{"generate --segment t --generator orders", 2, "--generator is for IDs"},
		{"segments advance t --by 9000000000000000000", 2, "add --yes"},
		{"decode 3CQ9G6DtmEh", 1, "3CQ9G6DtmEh would be an ID of 2044-04-17T02:14:01.409Z, in the future: name its form with --format"},
		{"decode --format base62 3CQ9G6DtmEh", 0, ""},
		{"decode 2686052587942798631", 0, ""},
		{`decode "2686052587942798631"`, 0, ""},
	} {
		got := call(t, nil, "", strings.Fields(tc.args)...)
		if got.code != tc.code || !strings.Contains(got.stderr, tc.says) {
			t.Errorf("%s: exit code %d, %swant %d and %q", tc.args, got.code, got.stderr, tc.code, tc.says)
		}
	}
}

// TestFileOfServe: the other commands take the file of serve, and with --generator one of several.
func TestFileOfServe(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	several := write("several.yaml", "listen: 127.0.0.1:0\ngenerators:\n  orders: {coordinator: \"static://?worker=3&fresh=true\"}\n"+
		"  users: {coordinator: \"static://?worker=4&fresh=true\"}\nstore: embed://"+filepath.ToSlash(folder)+"/store\n")
	one := write("one.yaml", "listen: 127.0.0.1:0\ncoordinator: static://?worker=5&fresh=true\n")
	plain := write("plain.yaml", "coordinator: static://?worker=6&fresh=true\n")
	broken := write("broken.yaml", "listne: 127.0.0.1:0\nlisten: 127.0.0.1:0\n")
	for _, tc := range []struct {
		args []string
		code int
		says string // on either stream
	}{
		{[]string{several, "--generator", "users"}, 0, "  worker 4  "},
		{[]string{several}, 2, "has several generators; name one with --generator: orders, users"},
		{[]string{several, "--generator", "user"}, 2, `--generator is "user"; ` + several + " has orders, users; did you mean users?"},
		{[]string{one}, 0, "  worker 5  "},
		{[]string{one, "--generator", "x"}, 2, "has one; leave it out"},
		{[]string{plain}, 0, "  worker 6  "},
		{[]string{broken}, 1, `line 1: unknown key "listne"; did you mean listen?`},
	} {
		got := call(t, nil, "", append([]string{"generate", "--explain", "--config"}, tc.args...)...)
		if got.code != tc.code || !strings.Contains(got.out+got.stderr, tc.says) {
			t.Errorf("%v: exit code %d, %s%swant %d and %q", tc.args, got.code, got.out, got.stderr, tc.code, tc.says)
		}
	}
	wantCall(t, call(t, nil, "", "segments", "--config", several), exitOK, "0 tags", "")
}
