package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/core"
)

// writeFile writes a file to a folder of its own and returns its path.
func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestVerify: what was generated is in order; what was written down twice is not, and the coordinator knows whose it is.
func TestVerify(t *testing.T) {
	t.Parallel()
	url := "embed://" + urlPath(filepath.Join(t.TempDir(), "etcd"))
	made := call(t, nil, "", "generate", "--count", "100", "--coordinator", url)
	if made.code != exitOK {
		t.Fatalf("%+v", made)
	}
	wantCall(t, call(t, nil, made.out, "verify", "--ordered"), exitOK, "100 IDs of 1 worker ID: nothing is wrong\n", "")

	first, _, _ := strings.Cut(made.out, "\n")
	file := writeFile(t, "ids.txt", made.out+first+"\n")
	got := call(t, nil, "", "verify", "--coordinator", url, file)
	wantCall(t, got, exitFailure, first+" occurs 2 times: ", "unalike: something is wrong with the IDs: 1 duplicate\n")
	for _, want := range []string{
		"101 IDs of 1 worker ID: 1 duplicate, 1 out of order\n",
		fmt.Sprintf("\n  at %s:1, %s:101\n", file, file), " was held by " + holderHere(t) + " since ", "; it is free\n",
		"possible cause: same worker ID twice (another generator with worker ID 0 may have begun at " + file + ":101)\n", "WORKER ID  IDS ",
	} {
		if !strings.Contains(got.out, want) {
			t.Errorf("the output lacks %q:\n%s", want, got.out)
		}
	}
	// The variable and the file of settings name the coordinator as well as the flag does.
	settings := writeFile(t, "unalike.yaml", "coordinator: "+url+"\n")
	for _, got := range []result{
		call(t, map[string]string{envCoordinator: url}, "", "verify", file),
		call(t, nil, "", "verify", "--config", settings, file),
	} {
		wantCall(t, got, exitFailure, " was held by "+holderHere(t), "1 duplicate")
	}
	wantCall(t, call(t, nil, "", "verify", "--layout", "twitter", "--coordinator", url, file), exitUsage, "",
		"grants worker IDs for layout 41/10/12/1ms/2024-01-01T00:00:00Z, and the IDs are read with 41/10/12/1ms/2010-11-04T01:42:54.657Z; name their layout with --layout")

	got = call(t, nil, "", "verify", "--json", "--coordinator", url, file)
	var report struct {
		OK              bool
		IDs, Duplicates int
		Clashes         []struct {
			ID     core.ID
			Held   string
			Places []struct {
				Source string
				Line   int
			}
		}
		Workers []struct{ IDs int }
		Holders []struct{ Holder string }
	}
	if err := json.Unmarshal([]byte(got.out), &report); err != nil || got.code != exitFailure {
		t.Fatalf("%v, %+v", err, got)
	}
	if want := fmt.Sprintf("{false 101 1 [{%s worker ID 0 was held by ", first); !strings.HasPrefix(fmt.Sprint(report), want) ||
		fmt.Sprint(report.Clashes[0].Places) != fmt.Sprintf("[{%s 1} {%s 101}]", file, file) || fmt.Sprint(report.Workers) != "[{101}]" || report.Holders[0].Holder != holderHere(t) {
		t.Errorf("%s\nwant %s", got.out, want)
	}
	wantCall(t, call(t, nil, "", "verify", "--coordinator", url, writeFile(t, "ids.txt", knownID+"\n"+knownID+"\n")), exitFailure,
		"was never granted: this ID was made by a generator that did not lease it from the coordinator\n", "")
}

// TestVerifyFormats reads each format that generate writes, a column, and standard input beside a file.
func TestVerifyFormats(t *testing.T) {
	t.Parallel()
	id, err := core.ParseID(knownID)
	if err != nil {
		t.Fatal(err)
	}
	forms := []string{knownID, id.Base62(), id.Base32(), `"` + knownID + `"`, `{"id":"` + knownID + `"}`}
	got := call(t, nil, strings.Join(forms, "\n"), "verify", "--layout", "twitter")
	wantCall(t, got, exitFailure, fmt.Sprintf("%s occurs %d times: ", knownID, len(forms)), "")
	for i, format := range formats() {
		wantCall(t, call(t, nil, forms[i]+"\n", "verify", "--layout", "twitter", "--format", format), exitOK, "1 ID of 1 worker ID: nothing is wrong\n", "")
		other := formats()[(i+1)%len(formats())]
		wantCall(t, call(t, nil, forms[i]+"\n", "verify", "--layout", "twitter", "--format", other), exitFailure, "the standard input:1: ", ": 1 unreadable\n")
	}
	file := writeFile(t, "orders.csv", "name,order_id\nx,"+id.Base32()+"\n")
	wantCall(t, call(t, nil, "a,b,order_id\n1,2,"+knownID+"\n", "verify", "--layout", "twitter", "--column", "order_id", "-", file), exitFailure,
		knownID+" occurs 2 times: ", ": 1 duplicate\n")
	wantCall(t, call(t, nil, "7\n8\n7\n", "verify", "--plain"), exitFailure, "3 IDs: 1 duplicate\n7 occurs 2 times\n", ": 1 duplicate\n")
	got = call(t, nil, "7\n7\n", "verify", "--plain", "--json")
	if want := `{"ok":false,"ids":2,"duplicates":1,"extra":1,"outside":0,"early":0,"late":0,"unreadable":0,"out_of_order":0,"unattributed":0,` +
		`"clashes":[{"id":"7","times":2,"places":[]}],"causes":[],"examples":[],"workers":[],"holders":[]}` + "\n"; got.out != want {
		t.Errorf("%s\nwant %s", got.out, want)
	}
}

func TestVerifyOrder(t *testing.T) {
	t.Parallel()
	ids := "1541815603606036481\n1541815603606036480\n"
	args := []string{"verify", "--layout", "twitter"}
	wantCall(t, call(t, nil, ids, args...), exitOK, "2 IDs of 1 worker ID: 1 out of order\n", "")
	wantCall(t, call(t, nil, ids, append(args, "--ordered")...), exitFailure, "the standard input:2: 1541815603606036480 follows 1541815603606036481", ": 1 out of order\n")
}

// TestVerifyFarTimes: times beyond the year 9999, which a time.Time in JSON cannot be.
func TestVerifyFarTimes(t *testing.T) {
	t.Parallel()
	args := []string{"verify", "--json", "--layout", "41/10/12/1h0m0s/2024-01-01T00:00:00Z", "--latest", "9999-01-01T00:00:00Z"}
	wantCall(t, call(t, nil, "9223372036854775807\n9223372036854775807\n", args...), exitFailure, `"late":2,`, ": 1 duplicate, 2 too late\n")
}

// TestVerifyRefuses: mistakes on the command line, and files that are none.
func TestVerifyRefuses(t *testing.T) {
	t.Parallel()
	file, empty := writeFile(t, "ids.csv", "a,b\n1,2\n"), writeFile(t, "empty", "")
	for _, tt := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--workers", "5-3"}, exitUsage, "two worker IDs are needed, the lower one first, for example 0-511"},
		{[]string{"--workers", "0-1024"}, exitUsage, "--workers 0-1024: layout 41/10/12/1ms/2024-01-01T00:00:00Z has worker IDs 0 to 1023"},
		{[]string{"--memory", "3"}, exitUsage, "a size from 1MiB to "},
		{[]string{"--memory", "0MiB"}, exitUsage, "MiB is needed, for example 512MiB or 2GiB"},
		{[]string{"--memory", "-1GiB"}, exitUsage, "a size from 1MiB to "},
		{[]string{"--memory", "65GiB"}, exitUsage, "a size from 1MiB to "},
		{[]string{"--memory", "99999999GiB"}, exitUsage, "MiB is needed, for example 512MiB or 2GiB"},
		{[]string{"--show", "0"}, exitUsage, "a whole number from 1 to "},
		{[]string{"--format", "hex"}, exitUsage, "it is one of auto, decimal, base62, base32, json"},
		{[]string{"--plain", "--layout", "twitter"}, exitUsage, "--plain is for numbers without a layout, and --layout is about the layout; leave one of them out"},
		{[]string{"--plain", "--ordered"}, exitUsage, "and --ordered is about the layout"},
		{[]string{"--earliest", "2090-01-01T00:00:00Z"}, exitUsage, "--earliest 2090-01-01T00:00:00Z is after --latest "},
		{[]string{"--coordinator", ""}, exitUsage, "--coordinator is empty"},
		{[]string{"--column", ""}, exitUsage, "--column is empty; name one, or leave the flag out"},
		{[]string{"--temp", ""}, exitUsage, "--temp is empty; name one, or leave the flag out"},
		{[]string{file, file}, exitUsage, "are the same file; all its IDs would occur twice"},
		{[]string{"-", "-"}, exitUsage, "- and - are the same file"},
		{[]string{"--column", "id", file}, exitFailure, file + `: there is no column "id"; the first line names the columns, separated by commas, and they are ["a" "b"]`},
		{[]string{"--column", "b", empty}, exitFailure, empty + ` is empty; the first line of a CSV names its columns, and one has to be "b"`},
		{[]string{empty}, exitFailure, "unalike: there are no IDs in " + empty + "\n"},
		{[]string{filepath.Dir(file)}, exitFailure, "is a folder; name its files"},
		{[]string{file + "x"}, exitFailure, "ids.csvx"},
		{[]string{"--coordinator", "embed://" + urlPath(filepath.Dir(empty)) + "/none", file}, exitFailure, "there is no etcd in folder "},
	} {
		wantCall(t, call(t, nil, "1\n", append([]string{"verify"}, tt.args...)...), tt.code, "", tt.want)
	}
}
