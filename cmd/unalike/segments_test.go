package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/unalike-id/unalike/internal/safetytest"
	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
	"github.com/unalike-id/unalike/segment"
	"github.com/unalike-id/unalike/segment/segmenttest"
)

// TestSegments: numbers in one command on a machine with nothing, and the tags that there are then.
func TestSegments(t *testing.T) {
	env := dataIn(t.TempDir())
	checkLines(t, env, []line{
		{"generate --segment orders --count 3", 0, "1\n2\n3\n"},
		{"segments", 0, "\n1 tag\n"},
		{"generate --segment orders", 0, "4\n"}, // what was not printed was given back
		{
			"segments create users --first 100 --step 50 --description people", 0,
			"tag users begins at 100, with a step of 50",
		},
		{"segments create users", 1, "the tag exists"},
		{"segments", 0, "users   100   50"},
		{"segments", 0, "\n2 tags\n"},
		{"segments --format json", 0, `{"tag":"users","next":100,"step":50,"updated":"20`},
		{"segments advance users --to 500 --yes", 0, "tag users goes on with 500"},
		{"segments advance users --to 5 --yes", 1, "numbers go up only"},
		{
			"segments advance --all --by 10 --yes", 0,
			"tag orders goes on with 15\ntag users goes on with 510",
		},
		{"segments advance nobody --to 5 --yes", 1, "unknown tag"},
		{"segments advance user --to 5 --yes", 1, `unknown tag: "user"; did you mean "users"?`},
		{"generate --segment users --count 2", 0, "510\n511\n"},
		{"segments advance", 2, "name a tag"},
		{"segments advance users --all --by 5", 2, "name a tag"},
		{"segments advance users", 2, "--to or --by"},
		{
			"segments advance --all --by 9223372036854775300 --yes", 1,
			"tag users is at 512, and numbers end at 9223372036854775807: --by is at most " +
				"9223372036854775295",
		},
		{"generate --segment orders", 0, "15\n"}, // none was changed
		{"generate --segment bills --as INV{n:4}-{97} --count 2", 0, "INV0001-05\nINV0002-02\n"},
		{"generate --segment bills", 0, "3\n"},
		{"generate --segment days --as {YYYY}/{n:3} --zone Europe/Berlin --count 2", 0, "/011\n"},
		{"generate --segment days --as {YYYY}/{n:3}", 0, "/013\n"}, // above what all tags were raised by
		{"generate --segment bills --as {n:1} --count 20", 1, "has room for 6 more numbers"},
		{"generate --segment bills --as {x}", 2, "--as: segment: invalid: format"},
		{"generate --segment bills --as {n} --zone UTC", 2, "--zone is for formats with a date"},
		{
			"generate --segment bills --as {YY}{n} --zone Mars", 2,
			"--zone is \"Mars\"; it is the name of a time zone",
		},
		{"generate --as {n}", 2, "--as is for --segment"},
		{"segments create last --first 9223372036854775807 --step 1", 0, "tag last begins at"},
		{"segments advance --all --by 10 --yes", 0, "tag last goes on with 9223372036854775807\n"},
		{"segments advance last --by 10 --yes", 0, "tag last goes on with 9223372036854775807\n"},
		{"segments prune days", 2, "say --before DATE"},
		{"segments prune days --before yesterday", 2, "a date is needed"},
		{"segments prune days --before 2999-01-01 --yes", 2, "a date at least two days ago"},
		{"segments --interval 5s", 2, "--interval is for --watch"},
		{"generate --store embed:///x", 2, "--store is for --segment"},
		{"generate --segment a --explain", 2, "--segment is for plain numbers"},
		{"generate --segment a --store redis://h/0", 2, "unknown scheme"},
		{"segments --store= ", 2, "--store is empty"},
		{"segments --store mysql://u:secret@h", 2, "there is no database"},
		{"segments --store mysq://u:secret@h/db", 2, "did you mean mysql://?"},
	})
}

// growing is a store of a tag of which 10 numbers are taken between two looks. After the third, the
// watch is ended.
type growing struct {
	segment.Store
	looks int64
	end   context.CancelFunc
}

// Tags implements [segment.Store].
func (g *growing) Tags(ctx context.Context) ([]segment.Tag, error) {
	if g.looks++; g.looks > 3 {
		g.end()
		return nil, ctx.Err()
	}
	return []segment.Tag{{Name: "orders", Next: 10 * g.looks, Damage: errors.New("damaged")}}, nil
}

// TestSegmentsWatch: a watch shows again and again how fast numbers are used.
func TestSegmentsWatch(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out, stderr strings.Builder
	a := &app{streams: streams{out: &out, err: &stderr}}
	s := &tagStore{
		&growing{end: cancel},
		place{},
		&caller{waits: waits{answer: callTime, quiet: callTime}},
	}
	o := segmentsOptions{watchOptions: watchOptions{true, spanValue{v: 1}}}
	if err := a.listSegments(ctx, s, &o); !errors.Is(err, context.Canceled) ||
		strings.Count(out.String(), "\n") != 3 || strings.Count(out.String(), `"rate":`) != 2 ||
		stderr.String() != "unalike: damaged\n" {
		t.Errorf("%v\n%s%s", err, &out, &stderr)
	}
	first, tags := map[string]int64{"orders": 100}, []segment.Tag{
		{Name: "bills", Next: 5, Step: 10}, {Name: "orders", Next: 350, Step: 1000},
	}
	const want = "TAG     NEXT  STEP  RATE    LASTS  UPDATED  DESCRIPTION\n" +
		"bills   5     10    -       -      -        -\n" +
		"orders  350   1000  25.0/s  40s    -        -\n2 tags\n"
	if got := tagTable(tags, true, ratesSince(first, 10*time.Second, tags)); string(got) != want ||
		first["bills"] != 5 {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// TestDamagedTags: a tag that somebody has damaged is listed with what is wrong with it, and the
// others go on.
func TestDamagedTags(t *testing.T) {
	server := etcdtest.Start(t)
	at := " --store etcd://" + server.Endpoint + "/orders"
	checkLines(t, nil, []line{
		{"segments create bad" + at, exitOK, "tag bad begins at 1"},
		{"segments create good" + at, exitOK, "tag good begins at 1"},
	})
	client, key := server.Client(t), "/unalike/segments/orders/bad"
	was, err := client.Get(t.Context(), key)
	if err != nil || len(was.Kvs) != 1 {
		t.Fatal(was, err)
	}
	damaged := strings.Replace(string(was.Kvs[0].Value), `"next":1,`, `"next":-7,`, 1)
	if _, err := client.Put(t.Context(), key, damaged); err != nil {
		t.Fatal(err)
	}
	const wrong = `tag "bad": its next number, next in key /unalike/segments/orders/bad, is -7; a ` +
		`whole number`
	checkLines(t, nil, []line{
		{"segments" + at, exitOK, "unalike: segment: what is stored is damaged: " + wrong},
		{"segments" + at, exitOK, "2 tags"},
		{
			"segments --format json" + at, exitOK,
			`"damage":"segment: what is stored is damaged: tag \"bad\"`,
		},
		{"generate --segment bad" + at, exitFailure, wrong},
		{"generate --segment good" + at, exitOK, "1\n"},
		{
			"generate --segment goods" + at, exitFailure,
			`did you mean "good"? 'unalike segments create' makes a new one`,
		},
		{"segments advance bad --by 5 --yes" + at, exitFailure, wrong},
		{"segments advance --all --by 5 --yes" + at, exitFailure, wrong},
		{"segments advance bad --to 50 --yes" + at, exitOK, "tag bad goes on with 50"},
		{"generate --segment bad" + at, exitOK, "50\n"},
	})
}

// TestSegmentsConfig: the store comes from a file, the environment wins over it, and the flag over
// both. What is not used is not looked up.
func TestSegmentsConfig(t *testing.T) {
	in := func() string { return "embed://" + urlPath(t.TempDir()) }
	file := "--config " +
		settingsFile(t, "coordinator: redis://:${NOT_SET}@h/0\nstore: "+in()+"\nsegments: orders\n")
	secret := "--config " + settingsFile(t, "store: mysql://u:${NOT_SET}@h/db\n")
	for first, tt := range map[string]struct {
		env   map[string]string
		flags string
	}{
		"100": {nil, file},
		"200": {map[string]string{envStore: in()}, file},
		"300": {map[string]string{envStore: "nonsense"}, file + " --store " + in()},
		"400": {nil, secret + " --store " + in()},
	} {
		checkLines(t, tt.env, []line{
			{"segments create orders --first " + first + " " + tt.flags, exitOK, "tag orders begins at " +
				first},
			{"segments " + tt.flags, exitOK, "orders  " + first},
			{"generate --segment orders " + tt.flags, exitOK, first + "\n"},
		})
	}
	for _, tt := range []struct{ text, args, says string }{
		{"coordinator: redis://h/0\n", "segments", "it names no store; add the key store"},
		{"stroe: embed:///x\n", "segments", `unknown key "stroe"; did you mean store?`},
		{
			"store: mysql://u:${NOT_SET}@h/db\n", "segments create a",
			"${NOT_SET} refers to a variable that is not set",
		},
		{"store: mysq://u:secret@h/db\n", "segments advance a --to 5 --yes", ": store: "},
		{"store: mysq://u:secret@h/db\n", "generate --segment a", "did you mean mysql://?"},
	} {
		args := tt.args + " --config " + settingsFile(t, tt.text)
		checkLines(t, nil, []line{{args, exitFailure, tt.says}})
	}
	// Commands for IDs look up nothing of the store.
	file = settingsFile(t, "coordinator: "+noState(t, "21")+"\nstore: mysql://u:${NOT_SET}@h/db\n")
	env := map[string]string{envStore: "nonsense"}
	checkLines(t, env, []line{{"generate --config " + file, exitOK, ""}})
}

// TestSegmentsPrune: groups before a day are removed where the store refuses to create them again,
// and nothing is elsewhere.
func TestSegmentsPrune(t *testing.T) {
	var tags []segment.Tag
	for _, name := range []string{
		"a", "a.2024-11", "a.2024-12", "a.2025-01", "a.2024", "b.2024-11",
	} {
		tags = append(tags, segment.Tag{Name: name, Next: 1, Step: 1})
	}
	store := segmenttest.NewFake(tags...)
	var out, stderr strings.Builder
	a := &app{streams: streams{out: &out, err: &stderr}}
	k := &caller{waits: waits{answer: callTime, quiet: callTime}}
	before := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	err := a.pruneSegments(t.Context(), &tagStore{store, place{}, k}, "a", before, true)
	if err != nil {
		t.Error(err)
	}
	const groups = "2 groups of tag a before 2025-01-01"
	left, err := store.Tags(t.Context())
	if len(left) != 4 || err != nil || !strings.Contains(out.String(), groups) ||
		!strings.Contains(stderr.String(), groups+" will be removed") {
		t.Errorf("left are %v, %v\n%s%s", left, err, &out, &stderr)
	}
	err = a.pruneSegments(t.Context(), &tagStore{store, place{}, k}, "c", before, true)
	if !errors.Is(err, segment.ErrUnknownTag) {
		t.Error(err)
	}
	plain := &tagStore{struct{ segment.Store }{store}, place{}, k}
	if err := a.pruneSegments(t.Context(), plain, "a", before, true); err == nil ||
		!strings.Contains(err.Error(), "cannot remove groups") {
		t.Error(err)
	}
}

// TestEvenStep: segments are as few as can be and leave few numbers.
func TestEvenStep(t *testing.T) {
	for _, c := range [][3]int64{
		{1, 0, 1},
		{4096, 0, 4096},
		{4097, 0, 2049},
		{5000, 0, 2500},
		{3, 2, 2},
		{10, 1, 1},
		{math.MaxInt64, 0, 4096},
		{10_000, 1_000_000, 3334},
	} {
		if got := evenStep(c[0], c[1]); got != c[2] {
			t.Errorf("%d numbers in segments of %d at most: %d, want %d", c[0], c[1], got, c[2])
		}
	}
}

// TestGenerate_ParallelRunsLeaveOutFewNumbers: commands that run at the same time and end normally
// print each number once, and leave out at most 20,000 together.
func TestGenerate_ParallelRunsLeaveOutFewNumbers(t *testing.T) {
	t.Parallel()
	at := " --store etcd://" + etcdtest.Start(t).Endpoint + "/orders"
	checkLines(t, nil, []line{{"segments create par" + at, exitOK, "tag par begins at 1"}})
	var running sync.WaitGroup
	var seen sync.Map
	printed := 0
	for i := range 24 {
		count := 1 + i*997%3000
		printed += count
		running.Go(func() {
			args := fmt.Sprint("generate --segment par --count ", count, at)
			got := call(t, nil, "", strings.Fields(args)...)
			numbers := strings.Fields(got.out)
			if got.code != exitOK || len(numbers) != count {
				t.Errorf("%d of %d numbers: %d, %s", len(numbers), count, got.code, got.stderr)
			}
			for _, n := range numbers {
				if _, twice := seen.LoadOrStore(n, true); twice {
					safetytest.Of(t).Errorf("%s was printed twice", n)
				}
			}
		})
	}
	running.Wait()
	var tag tagObject
	got := call(t, nil, "", strings.Fields("segments --format json"+at)...)
	if err := json.Unmarshal([]byte(got.out), &tag); err != nil {
		t.Fatal(err)
	}
	if left := int(tag.Next) - 1 - printed; left > 20_000 {
		t.Errorf("after %d numbers the next one is %d", printed, tag.Next)
	}
}
