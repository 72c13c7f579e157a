package main

import (
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

// TestVerify: what was generated is in order; what was written down twice is not, and the
// coordinator knows whose it is.
func TestVerify(t *testing.T) {
	t.Parallel()
	url := "embed://" + urlPath(filepath.Join(t.TempDir(), "etcd"))
	settings := settingsFile(t, "coordinator: "+url+"\nworker_ids: 0-0\n")
	made := call(t, nil, "", "generate", "--count", "100", "--config", settings)
	wantCall(t, call(t, nil, made.out, "verify", "--ordered"), exitOK,
		"100 IDs of 1 worker ID: nothing is wrong\n", "")

	first, _, _ := strings.Cut(made.out, "\n")
	file := writeFile(t, "ids.txt", made.out+first+"\n")
	got := call(t, nil, "", "verify", "--coordinator", url, file)
	held := " was held by " + holderHere(t) + " since "
	for _, want := range []string{
		first + " occurs 2 times: ", "101 IDs of 1 worker ID: 1 duplicate, 1 out of order\n",
		fmt.Sprintf("\n  at %s:1, %[1]s:101\n", file), held, "; it is free\n",
		"possible cause: same worker ID twice (another generator with worker ID 0 may have begun at " +
			file + ":101)\n",
		"WORKER ID  IDS ",
	} {
		wantCall(t, got, exitFailure, want, "unalike: something is wrong with the IDs: 1 duplicate\n")
	}
	// The variable and the file of settings name the coordinator as well as the flag does.
	wantCall(t, call(t, map[string]string{envCoordinator: url}, "", "verify", file), exitFailure,
		held, "")
	wantCall(t, call(t, nil, "", "verify", "--config", settings, file), exitFailure, held, "")
	checkLines(t, nil, []line{{
		"verify --layout twitter --coordinator " + url + " " + file, exitUsage,
		"grants worker IDs for layout 41/10/12/1ms/2024-01-01T00:00:00Z, and the IDs are read with " +
			"41/10/12/1ms/2010-11-04T01:42:54.657Z; name their layout with --layout",
	}})

	got = call(t, nil, "", "verify", "--json", "--coordinator", url, file)
	for _, want := range []string{
		`{"ok":false,"ids":101,"duplicates":1,`, `"clashes":[{"id":"` + first + `",`,
		`"held":"worker ID 0` + held,
		fmt.Sprintf(`"places":[{"source":%q,"line":1},{"source":%[1]q,"line":101}]`, file),
		`"holder":"` + holderHere(t) + `"`,
	} {
		wantCall(t, got, exitFailure, want, "")
	}
	wrong := settingsFile(t, "coordinator: "+url+"?namespace=defalt\nworker_ids: 1-1\n")
	other := call(t, nil, "", "generate", "--count", "2", "--config", wrong)
	strange := writeFile(t, "ids.txt", made.out+other.out+other.out)
	got = call(t, nil, "", "verify", "--coordinator", url, strange)
	for _, want := range []string{
		"104 IDs of 2 worker IDs: 2 duplicates, 4 of worker IDs that were never granted, 1 out of ",
		"was never granted: this ID was made by a generator that did not lease it from the coordinator\n",
		"\n" + strange + ":101: worker ID 1 was never granted; its IDs: 4, the first is ",
	} {
		wantCall(t, got, exitFailure, want,
			"the IDs: 2 duplicates, 4 of worker IDs that were never granted\n")
	}
}

// TestVerifyFormats reads each format that generate writes, a column, and standard input beside a
// file.
func TestVerifyFormats(t *testing.T) {
	t.Parallel()
	id, err := core.ParseID(knownID)
	if err != nil {
		t.Fatal(err)
	}
	verify := func(stdin string, args ...string) result {
		return call(t, nil, stdin, append([]string{"verify", "--layout", "twitter"}, args...)...)
	}
	forms := []string{knownID, id.Base62(), id.Base32(), `"` + knownID + `"`, `{"id":"` + knownID +
		`"}`}
	wantCall(t, verify(strings.Join(forms, "\n")), exitFailure, knownID+" occurs 5 times: ", "")
	for i, format := range formats() {
		wantCall(t, verify(forms[i], "--format", format), exitOK,
			"1 ID of 1 worker ID: nothing is wrong\n", "")
		other := formats()[(i+1)%len(formats())]
		wantCall(t, verify(forms[i], "--format", other), exitFailure, "the standard input:1: ",
			": 1 unreadable\n")
	}
	file := writeFile(t, "orders.csv", "name,order_id\nx,"+id.Base32()+"\n")
	wantCall(t, verify("a,b,order_id\n1,2,"+knownID+"\n", "--column", "order_id", "-", file),
		exitFailure,
		knownID+" occurs 2 times: ", ": 1 duplicate\n")

	ids := "1541815603606036481\n1541815603606036480\n"
	wantCall(t, verify(ids), exitOK, "2 IDs of 1 worker ID: 1 out of order\n", "")
	wantCall(t, verify(ids, "--ordered"), exitFailure,
		"the standard input:2: 1541815603606036480 follows 1541815603606036481", ": 1 out of order\n")

	const most = "9223372036854775807\n" // beyond the year 9999, which a time.Time in JSON cannot be
	wantCall(t, verify(most+most, "--json", "--layout", "41/10/12/1h0m0s/2024-01-01T00:00:00Z"),
		exitFailure, `"late":2,`, ": 1 duplicate, 2 too late\n")
	wantCall(t, verify(knownID, "--workers", "5-7"), exitFailure, " has worker ID ",
		": 1 outside the layout or --workers\n")
	wantCall(t, verify(knownID, "--earliest", "2090-01-01T00:00:00Z", "--latest",
		"2099-01-01T00:00:00Z"), exitFailure, ", before 2090-01-01", ": 1 too early\n")
	wantCall(t, verify(knownID, "--json", "--latest", "2020-01-01T00:00:00Z"), exitFailure,
		`"early":0,"late":1,`, ": 1 too late\n")

	wantCall(t, call(t, nil, "7\n8\n7\n", "verify", "--plain"), exitFailure,
		"3 IDs: 1 duplicate\n7 occurs 2 times\n", "")
	got := call(t, nil, "7\n7\n", "verify", "--plain", "--json")
	if want := `{"ok":false,"ids":2,"duplicates":1,"extra":1,"outside":0,"early":0,"late":0,` +
		`"never_granted":0,"after_window":0,` +
		`"unreadable":0,"out_of_order":0,"unattributed":0,` +
		`"examples":[],"causes":[],"clashes":[{"id":"7","times":2,"places":[]}],` +
		`"workers":[],"holders":[]}` + "\n"; got.out != want {
		t.Errorf("%s\nwant %s", got.out, want)
	}
}

// TestVerifyRefuses: mistakes on the command line, and files that are none.
func TestVerifyRefuses(t *testing.T) {
	t.Parallel()
	file, empty := writeFile(t, "ids.csv", "a,b\n1,2\n"), writeFile(t, "empty", "")
	checkLines(t, nil, []line{
		{"verify --memory 3GiB", exitUsage, "a whole number of MiB from 1 to "},
		{"verify --memory 0", exitUsage, "a whole number of MiB from 1 to "},
		{"verify --memory 65537", exitUsage, "a whole number of MiB from 1 to "},
		{
			"verify --workers 5-3", exitUsage,
			"two worker IDs are needed, the lower one first, for example 0-511",
		},
		{
			"verify --workers 0-1024", exitUsage,
			"--workers 0-1024: layout 41/10/12/1ms/2024-01-01T00:00:00Z has worker IDs 0 to 1023",
		},
		{
			"verify --earliest 2090-01-01T00:00:00Z", exitUsage,
			"--earliest 2090-01-01T00:00:00Z is after --latest ",
		},
		{"verify --plain --workers 0-5", exitUsage, "and --workers is about the layout"},
		{"verify --show 0", exitUsage, "a whole number from 1 to "},
		{"verify --format hex", exitUsage, "it is one of auto, decimal, base62, base32, json"},
		{
			"verify --plain --layout twitter", exitUsage,
			"--plain is for numbers without a layout, and --layout is about the layout; leave one " +
				"of them out",
		},
		{"verify --plain --ordered", exitUsage, "and --ordered is about the layout"},
		{"verify " + file + " " + file, exitUsage, "are the same file; all its IDs would occur twice"},
		{"verify - -", exitUsage, "- and - are the same file"},
		{"verify --column id " + file, exitFailure, file +
			`: there is no column "id"; the first line names the columns`},
		{"verify --column b " + empty, exitFailure, empty +
			" is empty; the first line of a CSV names its columns"},
		{"verify " + empty, exitFailure, "unalike: there are no IDs in " + empty + "\n"},
		{"verify " + filepath.Dir(file), exitFailure, "is a folder; name its files"},
		{"verify " + file + "x", exitFailure, "ids.csvx"},
		{
			"verify --coordinator embed://" + urlPath(filepath.Dir(empty)) + "/none " + file, exitFailure,
			"there is no etcd in folder ",
		},
	})
}
