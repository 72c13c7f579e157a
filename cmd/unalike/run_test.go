package main

import (
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
	var out, stderr strings.Builder
	lookup := func(name string) (string, bool) {
		v, ok := env[name]
		return v, ok
	}
	code := run(t.Context(), args, streams{in: strings.NewReader(stdin), out: &out, err: &stderr}, lookup)
	return result{code: code, out: out.String(), stderr: stderr.String()}
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
		{"unknown command", []string{"make"}, "unalike: unknown command \"make\" for \"unalike\"\nRun 'unalike --help' for usage.\n"},
		{"unknown flag", []string{"generate", "--number", "5"}, "unalike: unknown flag: --number\n" + generateHelp},
		{"argument", []string{"generate", "5"}, "unalike: unknown command \"5\" for \"unalike generate\"\n" + generateHelp},
		{"count 0", []string{"generate", "--count", "0"}, "unalike: invalid argument \"0\" for \"-n, --count\" flag: a whole number from 1 to 9223372036854775807 is needed\n" + generateHelp},
		{"count negative", []string{"generate", "--count=-5"}, "unalike: invalid argument \"-5\" for \"-n, --count\" flag: a whole number from 1 to 9223372036854775807 is needed\n" + generateHelp},
		{"count too large", []string{"generate", "-n", "9223372036854775808"}, "unalike: invalid argument \"9223372036854775808\" for \"-n, --count\" flag: a whole number from 1 to 9223372036854775807 is needed\n" + generateHelp},
		{"count not whole", []string{"generate", "-n", "1e3"}, "unalike: invalid argument \"1e3\" for \"-n, --count\" flag: a whole number from 1 to 9223372036854775807 is needed\n" + generateHelp},
		{"count missing", []string{"generate", "--count"}, "unalike: flag needs an argument: --count\n" + generateHelp},
		{"format", []string{"generate", "--format", "hex"}, "unalike: invalid argument \"hex\" for \"--format\" flag: it is one of decimal, base62, base32, json\n" + generateHelp},
		{"layout", []string{"generate", "--layout", "41/10/13/1ms/2024-01-01T00:00:00Z"}, "unalike: invalid argument \"41/10/13/1ms/2024-01-01T00:00:00Z\" for \"--layout\" flag: core: invalid layout: TimeBits 41, WorkerBits 10 and SequenceBits 13 are 64 bits together; at most 63 are allowed, because the sign bit stays 0\n" + generateHelp},
		{"empty URL", []string{"generate", "--coordinator", ""}, "unalike: --coordinator is empty; name a URL, or leave the flag out\n" + generateHelp},
		{"no URL", []string{"generate", "--coordinator", "worker7"}, "unalike: --coordinator: coord: invalid URL: it has the form scheme://hosts/path?options, for example static://?worker=7\n" + generateHelp},
		{"unknown scheme", []string{"generate", "--coordinator", "etcd3://user:secret@host/"}, "unalike: --coordinator: coord: invalid URL: unknown scheme \"etcd3\"; known are embed, etcd, etcds, static; a driver is made known by importing its package\n" + generateHelp},
		{"bad port", []string{"generate", "--coordinator", "static://user:secret@host:70000/"}, "unalike: --coordinator: coord: invalid static URL: host \"host:70000\" has port \"70000\"; a port is a number from 1 to 65535\n" + generateHelp},
		{"no worker", []string{"generate", "--coordinator", "static://"}, "unalike: --coordinator: coord: invalid static URL: option worker is missing"},
		{"unknown option", []string{"generate", "--coordinator", "static://?worker=1&stat=x"}, "unalike: --coordinator: coord: invalid static URL: unknown option \"stat\"; known are count, fresh, horizon, namespace, renew, state, ttl, worker\n" + generateHelp},
		{"no ID", []string{"decode"}, "unalike: requires at least 1 arg(s), only received 0\nRun 'unalike decode --help' for usage.\n"},
		{"negative ID", []string{"decode", "-7"}, "unalike: unknown shorthand flag: '7' in -7; IDs are never negative\nRun 'unalike decode --help' for usage.\n"},
		{"decode format", []string{"decode", "--format", "hex", "1"}, "unalike: invalid argument \"hex\" for \"--format\" flag: it is one of auto, decimal, base62, base32, json\nRun 'unalike decode --help' for usage.\n"},
		{"layout argument", []string{"layout", "Twitter"}, "unalike: core: invalid layout: \"Twitter\" is neither a name (default, twitter, javascript) nor of the form time/worker/sequence bits/unit/epoch, for example 41/10/12/1ms/2024-01-01T00:00:00Z\nRun 'unalike layout --help' for usage.\n"},
		{"layouts", []string{"layout", "default", "twitter"}, "unalike: accepts at most 1 arg(s), received 2\nRun 'unalike layout --help' for usage.\n"},
		{"version argument", []string{"version", "now"}, "unalike: unknown command \"now\" for \"unalike version\"\nRun 'unalike version --help' for usage.\n"},
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
	for _, command := range []string{"generate", "decode", "layout"} {
		got := call(t, nil, "", command, "--help")
		if got.code != exitOK || !strings.Contains(got.out, "Examples:\n  unalike "+command) || got.stderr != "" {
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
