package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
)

// at is a moment of the tests without a clock.
var at = time.Date(2026, 5, 17, 9, 30, 0, 0, time.UTC)

// someSlots are one slot of each kind, and names that would harm a terminal.
func someSlots() []coord.Slot {
	layout := core.DefaultLayout().String()
	return []coord.Slot{
		{
			WorkerID: 0, State: coord.SlotRetired, Layout: layout, Generation: 3, NotAfter: 1,
			Until: at.AddDate(20, 0, 0),
		},
		{
			WorkerID: 1, State: coord.SlotFree, Layout: layout, Holder: "old:3", Identity: "pod-b",
			Generation: 2, NotAfter: 74943000000,
			Until: at.Add(-90 * time.Second), Since: at.Add(-time.Hour), Renewed: at.Add(-2 * time.Minute),
		},
		{
			WorkerID: 12, State: coord.SlotHeld, Layout: layout, Holder: "new:\x1b[31m\t4", Generation: 7,
			NotAfter: 74943024000,
			Until:    at.Add(24*time.Second + 500*time.Millisecond), Since: at.Add(-time.Minute),
			Renewed: at.Add(-5 * time.Second),
		},
	}
}

func TestSlotTable(t *testing.T) {
	const want = "WORKER ID  STATE    HOLDER       IDENTITY  SINCE                     " +
		"WINDOW LEFT      GENERATION\n" +
		"12         held     new:?[31m?4  -         2026-05-17T09:29:00.000Z  24.5s            7\n" +
		"1          free     old:3        pod-b     2026-05-17T08:30:00.000Z  ended 1m30s ago  2\n" +
		"0          retired  -            -         -                         7305 days 0s     3\n"
	if got := slotTable(chosen(someSlots(), false), at); got != want {
		t.Errorf("the table is\n%swant\n%s", got, want)
	}
	const (
		latest  = "; the latest window, of worker ID 12, reaches 2026-05-17T09:30:24.500Z, in 24.5s\n"
		granted = "nothing is granted, and no window extended, before 2026-05-17T09:31:00.000Z, in 1m0s\n"
		never   = "no worker ID was ever granted\n"
	)
	all, soon := someSlots(), at.Add(time.Minute)
	for _, tt := range []struct {
		slots []coord.Slot
		of    coord.Namespace
		whole bool
		want  string
	}{
		{
			all,
			coord.Namespace{},
			true,
			"1 held, 1,022 free (1,021 of them never granted), 1 retired, of 1,024" + latest,
		},
		{all, coord.Namespace{}, false, "1 held, 1 free, 1 retired" + latest},
		{
			all[:2],
			coord.Namespace{},
			false,
			"0 held, 1 free, 1 retired; the latest window, of worker ID 1, reaches " +
				"2026-05-17T09:28:30.000Z, 1m30s ago\n",
		},
		{all[:1], coord.Namespace{Floor: at}, false, "0 held, 0 free, 1 retired\n"},
		{all[:1], coord.Namespace{Floor: soon}, false, "0 held, 0 free, 1 retired\n" + granted},
		{
			nil,
			coord.Namespace{Layout: "x", Closed: true, Floor: soon},
			true,
			never + "the namespace is closed, because another one follows it: nothing is granted any more\n",
		},
		{
			nil,
			coord.Namespace{Layout: "x", MaxHorizon: 6 * time.Hour, Floor: soon},
			true,
			never + "windows reach up to 6h0m0s ahead, as the namespace was declared: so long nothing " +
				"is granted after a loss of state\n" + granted,
		},
		{nil, coord.Namespace{}, true, "there is no such namespace, or it is new: " + never},
	} {
		if got := summary(tt.slots, tt.of, tt.whole, at); got != tt.want {
			t.Errorf("the summary is %q, want %q", got, tt.want)
		}
	}
}

// TestSlotJSON holds the objects to the form that scripts rely on.
func TestSlotJSON(t *testing.T) {
	const (
		seen   = `{"seen":"2026-05-17T09:30:00.000Z","worker_id":`
		layout = `,"layout":"41/10/12/1ms/2024-01-01T00:00:00Z"}` + "\n"
		want   = seen + `0,"state":"retired","holder":"","identity":"","generation":3,"since":null,` +
			`"renewed":null,"window_end":"2046-05-17T09:30:00.000Z","window_left_seconds":631152000,` +
			`"not_after":1` + layout +
			seen + `1,"state":"free","holder":"old:3","identity":"pod-b","generation":2,` +
			`"since":"2026-05-17T08:30:00.000Z","renewed":"2026-05-17T09:28:00.000Z",` +
			`"window_end":"2026-05-17T09:28:30.000Z","window_left_seconds":-90,` +
			`"not_after":74943000000` + layout +
			seen + `12,"state":"held","holder":"new:\u001b[31m\t4","identity":"","generation":7,` +
			`"since":"2026-05-17T09:29:00.000Z","renewed":"2026-05-17T09:29:55.000Z",` +
			`"window_end":"2026-05-17T09:30:24.500Z","window_left_seconds":24.5,` +
			`"not_after":74943024000` + layout
	)
	var got []byte
	for _, s := range someSlots() {
		var err error
		if got, err = appendSlot(got, s, coord.Namespace{}, s.State.String(), at); err != nil {
			t.Fatal(err)
		}
	}
	if string(got) != want {
		t.Errorf("the objects are\n%swant\n%s", got, want)
	}
}

// listed runs workers in JSON and returns what it says.
func listed(t *testing.T, args ...string) []slotObject {
	t.Helper()
	got := call(t, nil, "", append([]string{"workers", "--format", "json"}, args...)...)
	if got.code != exitOK || got.stderr != "" {
		t.Fatalf("%+v", got)
	}
	var all []slotObject
	for line := range strings.Lines(got.out) {
		var o slotObject
		if err := json.Unmarshal([]byte(line), &o); err != nil {
			t.Fatal(err)
		}
		all = append(all, o)
	}
	return all
}

func TestWorkers(t *testing.T) {
	server, newSpace := newSpaces(t)
	url := newSpace()
	at := "workers --coordinator " + url
	checkLines(t, nil, []line{{at, exitOK, "no worker ID was ever granted\n"}})
	g := generator(t, url, core.Config{Lease: coord.LeaseConfig{
		Identity: "pod-a", WorkerIDs: coord.Range{Count: 1},
	}})
	closeGenerator(t, generator(t, url, core.Config{}))

	all := listed(t, "--coordinator", url)
	if len(all) != 2 || all[0].State != "held" || all[1].State != "free" {
		t.Fatalf("%+v", all)
	}
	held, worker := all[0], g.Health().Workers[0]
	if held.WorkerID != worker.WorkerID || held.Generation != worker.Generation ||
		held.Holder != holderHere(t) ||
		held.Identity != "pod-a" || held.Since == nil ||
		held.Fingerprint != core.DefaultLayout().String() {
		t.Errorf("%+v; the generator says %+v", held, worker)
	}
	if end, err := time.Parse(time.RFC3339, *held.WindowEnd); err != nil ||
		math.Abs(time.Until(end).Seconds()-*held.WindowLeft) > callTime.Seconds() {
		t.Errorf("the window ends %v, in %v s, %v", end, held.WindowLeft, err)
	}
	if only := listed(t, "--held", "--coordinator", url); len(only) != 1 ||
		only[0].WorkerID != held.WorkerID {
		t.Errorf("--held gives %+v", only)
	}
	got := call(t, map[string]string{envCoordinator: url}, "", "workers")
	wantCall(t, got, exitOK, "\n0          held   "+holderHere(t)+"  pod-a  ", "")
	wantCall(t, got, exitOK,
		"\n1 held, 1,023 free (1,022 of them never granted), 0 retired, of 1,024; the latest", "")

	// One that cannot be read is reported, and the other shown.
	key := fmt.Sprintf("/unalike%s/slot/%010d", url[strings.LastIndex(url, "/"):], all[1].WorkerID)
	if _, err := server.Client(t).Put(t.Context(), key, "x"); err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{"table", "json"} {
		got = call(t, nil, "", "workers", "--coordinator", url, "--format", format)
		wantCall(t, got, exitFailure, "pod-a",
			"unalike: not every worker ID can be read: etcd: unalike: invalid etcd key ")
	}
}

// TestWorkersStatic: a state file tells who holds its worker ID, another process included. The
// default coordinator can be asked as well.
func TestWorkersStatic(t *testing.T) {
	t.Parallel()
	url := stateFile(t, "5")
	p := start(t, t.TempDir(), "generate", "--count", "100000000", "--coordinator", url)
	p.read(1)
	all, pid := listed(t, "--coordinator", url), fmt.Sprintf(":%d", p.cmd.Process.Pid)
	if len(all) != 1 || all[0].State != "held" || all[0].WorkerID != 5 ||
		!strings.HasSuffix(all[0].Holder, pid) {
		t.Errorf("while process %s generates: %+v", pid, all)
	}
	p.signal(os.Kill)
	p.wait()
	checkLines(t, dataIn(t.TempDir()), []line{
		{"workers --layout twitter", exitFailure, "the default coordinator: there is no etcd in folder "},
		{"generate --layout twitter", exitOK, ""},
		{"workers --layout twitter", exitOK, "0 held, 1,024 free"},
	})
}
