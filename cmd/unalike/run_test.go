package main

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/internal/testserver/proctest"
)

// result is what a command line gave.
type result struct {
	code        int
	out, stderr string
}

// call runs a command line inside this process, with only the given environment.
func call(t *testing.T, env map[string]string, stdin string, args ...string) result {
	t.Helper()
	// A busy machine is no reason to say anything.
	return callIn(t.Context(), waits{answer: callTime, quiet: callTime}, env, stdin, args...)
}

// callIn is call in a context, with how long things may take.
func callIn(ctx context.Context, w waits, env map[string]string, stdin string,
	args ...string,
) result {
	var out, stderr proctest.Output
	a := &app{
		streams:   streams{in: strings.NewReader(stdin), out: &out, err: &stderr},
		lookupEnv: lookupIn(env), waits: w,
	}
	code := a.run(ctx, args)
	return result{code: code, out: out.String(), stderr: stderr.String()}
}

// lookupIn is os.LookupEnv in an environment of the test.
func lookupIn(env map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		v, ok := env[name]
		return v, ok
	}
}

// dataIn is the environment of a user whose data are in a folder.
func dataIn(folder string) map[string]string {
	return map[string]string{"XDG_DATA_HOME": folder, "LOCALAPPDATA": folder}
}

// noState is a coordinator URL for tests that make IDs and need no state file. Each
// test has a namespace of its own, as one process may not use a worker ID twice.
func noState(t *testing.T, worker string) string {
	t.Helper()
	return "static://?worker=" + worker + "&namespace=" +
		strings.NewReplacer("/", ".", " ", "").Replace(t.Name())
}

// line is a command line, its exit code and a part of what it prints: of a failure on the standard
// error output, else on either.
type line struct {
	args string // in one text, without quotes
	code int
	says string
}

// checkLines runs command lines one after the other. No password may be printed, nor anything be
// done after a mistake on the command line.
func checkLines(t *testing.T, env map[string]string, lines []line) {
	t.Helper()
	for _, l := range lines {
		got := call(t, env, "", strings.Fields(l.args)...)
		said := got.stderr
		if l.code == exitOK {
			said += got.out
		}
		if got.code != l.code || !strings.Contains(said, l.says) || got.code == exitUsage &&
			got.out != "" {
			t.Errorf("%s: %+v\nwant %d and %q", l.args, got, l.code, l.says)
		}
		if strings.Contains(got.stderr, "secret") {
			t.Errorf("%s: the password was printed:\n%s", l.args, got.stderr)
		}
	}
}

// TestUsageErrors: what is mistyped is refused with what was meant, and with the exit code of a
// mistake on the command line.
func TestUsageErrors(t *testing.T) {
	const (
		help  = "\nRun 'unalike generate --help' for usage.\n"
		whole = "flag: a whole number from 1 to 9223372036854775807 is needed" + help
	)
	checkLines(t, nil, []line{
		{"genrate", 2, "unknown command \"genrate\"; did you mean unalike generate?\nRun 'unalike " +
			"--help' for usage.\n"},
		{"make", 2, "unknown command \"make\"; known are completion, decode, generate, init, layout, "},
		{"generate --number 5", 2, "unalike: unknown flag: --number" + help},
		{"generate --cuont 3", 2, "unknown flag: --cuont; did you mean --count?"},
		{"decode -7", 2, "unknown shorthand flag: '7' in -7; IDs are never negative\n"},
		{"generate 5", 2, "takes no argument, and \"5\" is one; did you mean --count 5?" + help},
		{"layout default twitter", 2, "takes one layout at most; \"twitter\" is too much\n"},
		{"decode", 2, "unalike decode needs one ID or more, or - for the standard input\n"},
		{"retire --yes", 2, "unalike retire needs one worker ID\n"},
		{"generate --timeout 0s", 2, "--timeout is 0s; it is a duration above 0, as 30s is" + help},
		{"generate --count 0", 2, `"0" for "-n, --count" ` + whole},
		{"generate --format hex", 2, "flag: it is one of decimal, base62, base32, json" + help},
		{"generate --layout 41/10/13/1ms/2024-01-01T00:00:00Z", 2, "at most 63 are allowed, because "},
		{"generate --layout twiter", 2, "did you mean twitter?"},
		{"generate --coordinator=", 2, "--coordinator is empty; name the URL, or leave the flag out" +
			help},
		{"serve --listen=", 2, "--listen is empty; name the ADDRESS, or leave the flag out\n"},
		{"generate --coordinator worker7", 2, "it has the form scheme://hosts/path?options, for example"},
		{
			"generate --coordinator etcd3://user:secret@host/", 2,
			"known by importing its package; did you mean etcd://?" + help,
		},
		{
			"generate --coordinator static://?worker=7&stat=/x", 2,
			`unknown option "stat"; known are count, fresh, horizon, namespace, renew, state, ` +
				`ttl, worker; ` +
				`did you mean state?`,
		},
		{"generate --segment t --generator orders", 2, "--generator is for IDs"},
		{
			"retire 3 --generator orders --yes", 2,
			"--generator is for a file of --config with several generators; leave it out",
		},
		{"workers --interval 5s", 2, "--interval is for --watch; add --watch, or leave it out\n"},
		{
			"workers --watch --interval 99ms", 2,
			"a duration of at least 100ms is needed, for example 2s\n",
		},
		{"retire 007 --yes", 2, "worker ID \"007\": a whole number from 0 to 2147483647 is needed\n"},
		{"init --max-horizon soon", 2, "a positive duration with a unit is needed"},
		{"quarantine --until tomorrow", 2, "a moment from 1970 on is needed, in RFC 3339, for example"},
		{
			"quarantine --for=-5m", 2,
			"a positive duration with a unit is needed, for example 90s or 1h30m\n",
		},
		{
			"quarantine --until 2026-05-17T09:30:00Z --for 5m", 2,
			"--until and --for exclude each other; give one of them\n",
		},
		{"quarantine --lower --for 1h", 2, "--lower takes neither --until nor --for nor --far"},
		{
			"quarantine --for 300000h", 2,
			"the floor would be 12500 days and 0s ahead, and nothing is granted until then; " +
				"this cannot be taken back; at most 24h0m0s is allowed without --far",
		},
		{
			"quarantine --until " + time.Now().AddDate(0, 0, 3).Format(time.RFC3339), 2,
			"is allowed without --far",
		},
		{"segments advance t --by 9000000000000000000", 2, "add --yes"},
	})
}

func TestHelp(t *testing.T) {
	for _, args := range []string{"", "--help", "help"} {
		got := call(t, nil, "", strings.Fields(args)...)
		wantCall(t, got, exitOK, "Exit codes: 0 success, 1 failure, 2 a mistake", "")
	}
	for _, name := range []string{
		"generate", "decode", "verify", "layout", "workers", "init", "quarantine", "retire", "serve",
	} {
		got := call(t, nil, "", name, "--help")
		wantCall(t, got, exitOK, "Examples:\n  unalike ", "")
	}
}

func TestVersion(t *testing.T) {
	wantCall(t, call(t, nil, "", "--version"), exitOK, "unalike ", "")
	stampedVersion, stampedCommit = "v0.1.0", "0123abc"
	defer func() { stampedVersion, stampedCommit = "", "" }()
	want := "v0.1.0 (commit 0123abc) " + runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH
	if got := buildVersion(); got != want {
		t.Errorf("what a build has written is %q; want %q", got, want)
	}
}

// TestCompletion asks what a shell would be offered.
func TestCompletion(t *testing.T) {
	for args, want := range map[string]string{
		"":                       "decode\t",
		"generate --layout":      "default\ntwitter\njavascript\n",
		"generate --coordinator": "static://?worker=\n",
		"decode --format":        "auto\ndecimal\nbase62\nbase32\njson\n",
		"layout":                 "default\ntwitter\njavascript\n",
		"init --after":           "static://?worker=hostname&state=\n",
	} {
		words := append(strings.Fields("__complete "+args), "")
		wantCall(t, call(t, nil, "", words...), exitOK, want, "")
	}
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		wantCall(t, call(t, nil, "", "completion", shell), exitOK, "unalike", "")
	}
}
