package main

import (
	"context"
	"strings"
	"testing"
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
func callIn(ctx context.Context, w waits, env map[string]string, stdin string, args ...string) result {
	var out, stderr locked
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
	return "static://?worker=" + worker + "&namespace=" + strings.NewReplacer("/", ".", " ", "").Replace(t.Name())
}

func TestUsageErrors(t *testing.T) {
	const generateHelp = "Run 'unalike generate --help' for usage.\n"
	for _, tt := range []struct {
		name string
		args []string
		want string
	}{
		{"mistyped command", []string{"genrate"}, "unalike: unknown command \"genrate\"; did you mean unalike generate?\nRun 'unalike --help' for usage.\n"},
		{"no timeout", []string{"generate", "--timeout", "0s"}, "unalike: --timeout is 0s; it is a duration above 0, as 30s is\n" + generateHelp},
		{"unknown command", []string{"make"}, "unalike: unknown command \"make\"; known are completion, decode, generate, init, layout, quarantine, retire, segments, serve, verify, version, workers\nRun 'unalike --help' for usage.\n"},
		{"unknown flag", []string{"generate", "--number", "5"}, "unalike: unknown flag: --number\n" + generateHelp},
		{"argument", []string{"generate", "5"}, "unalike: unalike generate takes no argument, and \"5\" is one; did you mean --count 5?\n" + generateHelp},
		{"count 0", []string{"generate", "--count", "0"}, "unalike: invalid argument \"0\" for \"-n, --count\" flag: a whole number from 1 to 9223372036854775807 is needed\n" + generateHelp},
		{"count negative", []string{"generate", "--count=-5"}, "unalike: invalid argument \"-5\" for \"-n, --count\" flag: a whole number from 1 to 9223372036854775807 is needed\n" + generateHelp},
		{"count too large", []string{"generate", "-n", "9223372036854775808"}, "unalike: invalid argument \"9223372036854775808\" for \"-n, --count\" flag: a whole number from 1 to 9223372036854775807 is needed\n" + generateHelp},
		{"count not whole", []string{"generate", "-n", "1e3"}, "unalike: invalid argument \"1e3\" for \"-n, --count\" flag: a whole number from 1 to 9223372036854775807 is needed\n" + generateHelp},
		{"count missing", []string{"generate", "--count"}, "unalike: flag needs an argument: --count\n" + generateHelp},
		{"format", []string{"generate", "--format", "hex"}, "unalike: invalid argument \"hex\" for \"--format\" flag: it is one of decimal, base62, base32, json\n" + generateHelp},
		{"layout", []string{"generate", "--layout", "41/10/13/1ms/2024-01-01T00:00:00Z"}, "unalike: invalid argument \"41/10/13/1ms/2024-01-01T00:00:00Z\" for \"--layout\" flag: core: invalid layout: TimeBits 41, WorkerBits 10 and SequenceBits 13 are 64 bits together; at most 63 are allowed, because the sign bit stays 0\n" + generateHelp},
		{"empty URL", []string{"generate", "--coordinator", ""}, "unalike: --coordinator is empty; name a URL, or leave the flag out\n" + generateHelp},
		{"no URL", []string{"generate", "--coordinator", "worker7"}, "unalike: --coordinator: coord: invalid URL: it has the form scheme://hosts/path?options, for example static://?worker=7\n" + generateHelp},
		{"unknown scheme", []string{"generate", "--coordinator", "etcd3://user:secret@host/"}, "unalike: --coordinator: coord: invalid URL: unknown scheme \"etcd3\"; known are embed, etcd, etcds, file, kubernetes, kubernetes+http, mariadb, mariadbs, mysql, mysqls, postgres, postgresql, postgresqls, postgress, redis, redis-cluster, redis-sentinel, rediss, rediss-cluster, rediss-sentinel, static, zk; a driver is made known by importing its package; did you mean etcd://?\n" + generateHelp},
		{"bad port", []string{"generate", "--coordinator", "static://user:secret@host:70000/"}, "unalike: --coordinator: coord: invalid static URL: host \"host:70000\" has port \"70000\"; a port is a number from 1 to 65535\n" + generateHelp},
		{"no worker", []string{"generate", "--coordinator", "static://"}, "unalike: --coordinator: coord: invalid static URL: option worker is missing"},
		{"unknown option", []string{"generate", "--coordinator", "static://?worker=1&stat=x"}, "unalike: --coordinator: coord: invalid static URL: unknown option \"stat\"; known are count, fresh, horizon, namespace, renew, state, ttl, worker; did you mean state?\n" + generateHelp},
		{"no ID", []string{"decode"}, "unalike: unalike decode needs one ID or more, or - for the standard input\nRun 'unalike decode --help' for usage.\n"},
		{"negative ID", []string{"decode", "-7"}, "unalike: unknown shorthand flag: '7' in -7; IDs are never negative\nRun 'unalike decode --help' for usage.\n"},
		{"decode format", []string{"decode", "--format", "hex", "1"}, "unalike: invalid argument \"hex\" for \"--format\" flag: it is one of auto, decimal, base62, base32, json\nRun 'unalike decode --help' for usage.\n"},
		{"layout argument", []string{"layout", "Twitter"}, "unalike: core: invalid layout: \"Twitter\" is neither a name (default, twitter, javascript) nor of the form time/worker/sequence bits/unit/epoch, for example 41/10/12/1ms/2024-01-01T00:00:00Z; did you mean twitter?\nRun 'unalike layout --help' for usage.\n"},
		{"layouts", []string{"layout", "default", "twitter"}, "unalike: unalike layout takes one layout at most; \"twitter\" is too much\nRun 'unalike layout --help' for usage.\n"},
		{"workers format", []string{"workers", "--format", "xml"}, "unalike: invalid argument \"xml\" for \"--format\" flag: it is one of table, json\nRun 'unalike workers --help' for usage.\n"},
		{"workers argument", []string{"workers", "7"}, "unalike: unalike workers takes no argument, and \"7\" is one\n"},
		{"workers empty URL", []string{"workers", "--coordinator", ""}, "unalike: --coordinator is empty; name a URL, or leave the flag out\nRun 'unalike workers --help' for usage.\n"},
		{"interval without watch", []string{"workers", "--interval", "5s"}, "unalike: --interval is for --watch; add --watch, or leave it out\n"},
		{"interval too short", []string{"workers", "--watch", "--interval", "99ms"}, "unalike: invalid argument \"99ms\" for \"--interval\" flag: a duration of at least 100ms is needed, for example 2s\n"},
		{"retire nothing", []string{"retire", "--yes"}, "unalike: unalike retire needs one worker ID\nRun 'unalike retire --help' for usage.\n"},
		{"retire no number", []string{"retire", "007", "--yes"}, "unalike: worker ID \"007\": a whole number from 0 to 2147483647 is needed\n"},
		{"retire too large", []string{"retire", "2147483648", "--yes"}, "unalike: worker ID \"2147483648\": a whole number from 0 to 2147483647 is needed\n"},
		{"quarantine twice", []string{"quarantine", "--until", "2026-05-17T09:30:00Z", "--for", "5m", "--yes"}, "unalike: --until and --for exclude each other; give one of them\n"},
		{"quarantine no time", []string{"quarantine", "--until", "tomorrow"}, "unalike: invalid argument \"tomorrow\" for \"--until\" flag: a moment from 1970 on is needed, in RFC 3339, for example 2026-05-17T09:30:00Z\n"},
		{"quarantine zero time", []string{"quarantine", "--until", "0001-01-01T00:00:00Z"}, "unalike: invalid argument \"0001-01-01T00:00:00Z\" for \"--until\" flag: a moment from 1970 on"},
		{"quarantine negative", []string{"quarantine", "--for=-5m"}, "unalike: invalid argument \"-5m\" for \"--for\" flag: a positive duration with a unit is needed, for example 90s or 1h30m\n"},
		{"init empty after", []string{"init", "--after", ""}, "unalike: --after is empty; name the URL of the old namespace, or leave the flag out\n"},
		{"version argument", []string{"version", "now"}, "unalike: unalike version takes no argument, and \"now\" is one\nRun 'unalike version --help' for usage.\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := call(t, nil, "", tt.args...)
			if got.code != exitUsage || got.out != "" || !strings.HasPrefix(got.stderr, tt.want) {
				t.Errorf("exit code %d, output %q\nstderr %q\nwant   %q", got.code, got.out, got.stderr, tt.want)
			}
			if strings.Contains(got.stderr, "secret") {
				t.Error("the password was printed")
			}
		})
	}
}

func TestHelp(t *testing.T) {
	for _, args := range [][]string{{}, {"--help"}, {"help"}} {
		got := call(t, nil, "", args...)
		if got.code != exitOK || !strings.Contains(got.out, "Exit codes: 0 success, 1 failure, 2 a mistake") || got.stderr != "" {
			t.Errorf("%v: %+v", args, got)
		}
	}
	for _, command := range []string{"generate", "decode", "verify", "layout", "workers", "init", "quarantine", "retire"} {
		got := call(t, nil, "", command, "--help")
		if got.code != exitOK || !strings.Contains(got.out, "Examples:\n  unalike ") || strings.Count(got.out, "  unalike "+command) < 2 || got.stderr != "" {
			t.Errorf("%s: %+v", command, got)
		}
	}
}

func TestVersion(t *testing.T) {
	long, flag := call(t, nil, "", "version"), call(t, nil, "", "--version")
	if long.code != exitOK || !strings.HasPrefix(long.out, "unalike ") || !strings.Contains(long.out, " go1.") || long != flag {
		t.Errorf("%+v and %+v", long, flag)
	}
}

// TestCompletion asks what a shell would be offered.
func TestCompletion(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{""}, "decode\t"},
		{[]string{"generate", "--layout", ""}, "default\ntwitter\njavascript\n"},
		{[]string{"generate", "--format", ""}, "decimal\nbase62\nbase32\njson\n"},
		{[]string{"generate", "--coordinator", ""}, "static://?worker=\n"},
		{[]string{"decode", "--format", ""}, "auto\ndecimal\nbase62\nbase32\njson\n"},
		{[]string{"layout", ""}, "default\ntwitter\njavascript\n"},
		{[]string{"workers", "--format", ""}, "table\njson\n"},
		{[]string{"workers", "--interval", ""}, "2s\n"},
		{[]string{"workers", "--coordinator", ""}, "etcd://\n"},
		{[]string{"init", "--after", ""}, "static://?worker=hostname&state=\n"},
		{[]string{"quarantine", "--for", ""}, "10m\n"},
		{[]string{"retire", "--layout", ""}, "default\ntwitter\njavascript\n"},
	} {
		got := call(t, nil, "", append([]string{"__complete"}, tt.args...)...)
		if got.code != exitOK || !strings.Contains(got.out, tt.want) {
			t.Errorf("%v: %+v", tt.args, got)
		}
	}
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if got := call(t, nil, "", "completion", shell); got.code != exitOK || !strings.Contains(got.out, "unalike") {
			t.Errorf("completion for %s: exit code %d, stderr %q", shell, got.code, got.stderr)
		}
	}
}
