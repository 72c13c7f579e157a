package main

import (
	"strings"
	"testing"

	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
)

// TestSegments: numbers in one command on a machine with nothing, and the tags that there are then.
func TestSegments(t *testing.T) {
	env := dataIn(t.TempDir())
	for _, tc := range []struct {
		args string
		code int
		out  string // in what it prints, on either stream
	}{
		{"generate --segment orders --count 3", 0, "1\n2\n3\n"},
		{"segments", 0, "\n1 tag\n"},
		{"generate --segment orders", 0, "4\n"}, // what was not printed was given back
		{"segments create users --first 100 --step 50 --description people", 0, "tag users begins at 100, with a step of 50"},
		{"segments create users", 1, "the tag exists"},
		{"segments", 0, "users   100   50"},
		{"segments", 0, "\n2 tags\n"},
		{"segments --format json", 0, `{"description":"people","next":100,"step":50,"tag":"users"`},
		{"segments advance users --to 500 --yes", 0, "tag users goes on with 500"},
		{"segments advance users --to 5 --yes", 1, "numbers go up only"},
		{"segments advance --all --by 10 --yes", 0, "tag orders goes on with 15\ntag users goes on with 510"},
		{"segments advance nobody --to 5 --yes", 1, "unknown tag"},
		{"segments advance user --to 5 --yes", 1, `unknown tag: "user"; did you mean "users"?`},
		{"generate --segment users --count 2", 0, "510\n511\n"},
		{"segments advance", 2, "name a tag"},
		{"segments advance users --all --by 5", 2, "name a tag"},
		{"segments advance users", 2, "--to or --by"},
		{"segments advance --all --by 9223372036854775300 --yes", 1, "tag users is at 512, and numbers end at 9223372036854775807: --by is at most 9223372036854775295"},
		{"generate --segment orders", 0, "15\n"}, // none was changed
		{"generate --segment bills --as INV{n:4}-{97} --count 2", 0, "INV0001-05\nINV0002-02\n"},
		{"generate --segment bills", 0, "3\n"},
		{"generate --segment days --as {YYYY}/{n:3} --zone Europe/Berlin --count 2", 0, "/001\n"},
		{"generate --segment days --as {YYYY}/{n:3}", 0, "/003\n"}, // which are those of the same group
		{"generate --segment bills --as {n:1} --count 20", 1, "number 10 does not fit"},
		{"generate --segment bills --as {x}", 2, "--as: segment: invalid: format"},
		{"generate --segment bills --as {n} --zone UTC", 2, "--zone is for formats with a date"},
		{"generate --segment bills --as {YY}{n} --zone Mars", 2, "--zone is \"Mars\"; it is the name of a time zone"},
		{"generate --as {n}", 2, "--as is for --segment"},
		{"segments --interval 5s", 2, "--interval is for --watch"},
		{"generate --store embed:///x", 2, "--store is for --segment"},
		{"generate --segment a --explain", 2, "--segment is for plain numbers"},
		{"generate --segment a --store redis://h/0", 2, "unknown scheme"},
		{"generate --segment a --store= ", 2, "--store is empty"},
		{"generate --store= ", 2, "--store is for --segment"},
		{"segments --store= ", 2, "--store is empty"},
		{"segments --store mysql://u:secret@h", 2, "there is no database"},
		{"segments --store mysq://u:secret@h/db", 2, "did you mean mysql://?"},
	} {
		got := call(t, env, "", strings.Fields(tc.args)...)
		if got.code != tc.code || !strings.Contains(got.out+got.stderr, tc.out) ||
			tc.code == 0 && got.stderr != "" && !strings.Contains(tc.args, "--yes") || strings.Contains(got.stderr, "secret") {
			t.Errorf("%s: %+v; want %d and %q", tc.args, got, tc.code, tc.out)
		}
	}
}

// TestDamagedTags: a tag that somebody has damaged is listed with what is wrong with it, and the others go on.
func TestDamagedTags(t *testing.T) {
	server := etcdtest.Start(t)
	url := "etcd://" + server.Endpoint + "/orders"
	do := func(args ...string) result { return call(t, nil, "", append(args, "--store", url)...) }
	wantCall(t, do("segments", "create", "bad"), exitOK, "tag bad begins at 1", "")
	wantCall(t, do("segments", "create", "good"), exitOK, "tag good begins at 1", "")
	client, key := server.Client(t), "/unalike/segments/orders/bad"
	was, err := client.Get(t.Context(), key)
	if err != nil || len(was.Kvs) != 1 {
		t.Fatal(was, err)
	}
	if _, err := client.Put(t.Context(), key, strings.Replace(string(was.Kvs[0].Value), `"next":1,`, `"next":-7,`, 1)); err != nil {
		t.Fatal(err)
	}
	const wrong = `tag "bad": its next number, next in key /unalike/segments/orders/bad, is -7; a whole number from 0 to`
	wantCall(t, do("segments"), exitOK, "2 tags", "unalike: segment: invalid: "+wrong)
	wantCall(t, do("segments", "--format", "json"), exitOK, `"damage":"segment: invalid: tag \"bad\"`, wrong)
	wantCall(t, do("generate", "--segment", "bad"), exitFailure, "", wrong)
	wantCall(t, do("generate", "--segment", "good"), exitOK, "1\n", "")
	wantCall(t, do("generate", "--segment", "goods"), exitFailure, "", `did you mean "good"? 'unalike segments create' makes a new one`)
	wantCall(t, do("segments", "advance", "bad", "--by", "5", "--yes"), exitFailure, "", wrong)
	wantCall(t, do("segments", "advance", "--all", "--by", "5", "--yes"), exitFailure, "tag good goes on with", wrong)
	wantCall(t, do("segments", "advance", "bad", "--to", "50", "--yes"), exitOK, "tag bad goes on with 50", "")
	wantCall(t, do("generate", "--segment", "bad"), exitOK, "50\n", "")
}

// TestSegmentsConfig: the store comes from a file, the environment wins over it, and the flag over both. What is not used is not looked up.
func TestSegmentsConfig(t *testing.T) {
	in := func() string { return "embed://" + urlPath(t.TempDir()) }
	inFile, inEnv, inFlag := in(), in(), in()
	file := settingsFile(t, "coordinator: redis://:${NOT_SET}@h/0\nstore: "+inFile+"\nsegments: orders\n")
	secret := settingsFile(t, "store: mysql://u:${NOT_SET}@h/db\n")
	for first, tt := range map[string]struct {
		env   map[string]string
		flags []string
	}{
		"100": {nil, []string{"--config", file}},
		"200": {map[string]string{envStore: inEnv}, []string{"--config", file}},
		"300": {map[string]string{envStore: "nonsense"}, []string{"--config", file, "--store", inFlag}},
		"400": {nil, []string{"--config", secret, "--store", in()}},
	} {
		do := func(args ...string) result { return call(t, tt.env, "", append(args, tt.flags...)...) }
		wantCall(t, do("segments", "create", "orders", "--first", first), exitOK, "tag orders begins at "+first, "")
		wantCall(t, do("segments"), exitOK, "orders  "+first, "")
		wantCall(t, do("generate", "--segment", "orders"), exitOK, first+"\n", "")
		wantCall(t, do("segments", "advance", "orders", "--to", first+"0", "--yes"), exitOK, "tag orders goes on with "+first+"0", "")
	}
	for _, tt := range []struct {
		text, says string
		args       []string
	}{
		{"coordinator: redis://h/0\n", "it names no store; add the key store", []string{"segments"}},
		{"stroe: " + inFile + "\n", `unknown key "stroe"; did you mean store?`, []string{"segments"}},
		{"store: mysql://u:${NOT_SET}@h/db\n", "${NOT_SET} refers to a variable that is not set", []string{"segments", "create", "a"}},
		{"store: mysq://u:secret@h/db\n", ": store: ", []string{"segments", "advance", "a", "--to", "5", "--yes"}},
		{"store: mysq://u:secret@h/db\n", "did you mean mysql://?", []string{"generate", "--segment", "a"}},
	} {
		got := call(t, nil, "", append(tt.args, "--config", settingsFile(t, tt.text))...)
		wantCall(t, got, exitFailure, "", tt.says)
		if strings.Contains(got.stderr, "secret") {
			t.Errorf("%q: the password is printed: %s", tt.text, got.stderr)
		}
	}
	wantCall(t, call(t, nil, "", "segments", "--config", ""), exitUsage, "", "--config is empty")
}

// TestConfigUnusedStore: commands for IDs look up nothing of the store.
func TestConfigUnusedStore(t *testing.T) {
	file := settingsFile(t, "coordinator: "+noState(t, "21")+"\nstore: mysql://u:${NOT_SET}@h/db\n")
	wantCall(t, call(t, map[string]string{envStore: "nonsense"}, "", "generate", "--config", file), exitOK, "", "")
}
