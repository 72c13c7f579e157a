package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestVerify: what was generated is in order; what was written down twice is not, and the
// coordinator knows whose it is.
func TestVerify(t *testing.T) {
	t.Parallel()
	url := "embed://" + urlPath(filepath.Join(t.TempDir(), "etcd"))
	made := call(t, nil, "", "generate", "--count", "100", "--coordinator", url)
	if made.code != exitOK {
		t.Fatalf("%+v", made)
	}
	wantCall(t, call(t, nil, made.out, "verify", "--ordered"), exitOK, "100 IDs of 1 worker IDs: nothing is wrong\n", "")

	first, _, _ := strings.Cut(made.out, "\n")
	file := filepath.Join(t.TempDir(), "ids.txt")
	if err := os.WriteFile(file, []byte(made.out+first+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got := call(t, nil, "", "verify", "--coordinator", url, file)
	wantCall(t, got, exitFailure, first+" occurs 2 times: ", "unalike: something is wrong with the IDs: 1 occur more than once\n")
	for _, want := range []string{
		fmt.Sprintf("  at %s:1, %s:101\n", file, file), "was granted to ", "possible cause: clock stepped back (at " + file + ":101 ",
		"WORKER  IDS ", ", 1 follow a larger one of the same worker ID\n",
	} {
		if !strings.Contains(got.out, want) {
			t.Errorf("the output lacks %q:\n%s", want, got.out)
		}
	}

	got = call(t, nil, "", "verify", "--json", "--coordinator", url, file)
	var report struct {
		IDs, Duplicates int
		Clashes         []struct{ Places []struct{ Line int } }
		Holders         []struct{ Holder string }
	}
	if err := json.Unmarshal([]byte(got.out), &report); err != nil || got.code != exitFailure {
		t.Fatalf("%v, %+v", err, got)
	}
	if report.IDs != 101 || report.Duplicates != 1 || len(report.Clashes) != 1 || report.Clashes[0].Places[1].Line != 101 || len(report.Holders) != 1 || report.Holders[0].Holder == "" {
		t.Errorf("%s", got.out)
	}

	// IDs of nobody who leased from there.
	wantCall(t, call(t, nil, knownID+"\n"+knownID+"\n", "verify", "--coordinator", url), exitFailure, "did not lease it from this coordinator", "")
}

func TestVerifyOrder(t *testing.T) {
	t.Parallel()
	ids := "1541815603606036481\n1541815603606036480\n"
	args := []string{"verify", "--layout", "twitter"}
	wantCall(t, call(t, nil, ids, args...), exitOK, "1 follow a larger one", "")
	wantCall(t, call(t, nil, ids, append(args, "--ordered")...), exitFailure, "stdin:2: 1541815603606036480 follows 1541815603606036481", "1 follow a larger one of the same worker ID\n")
}

// TestVerifyRefuses: mistakes on the command line.
func TestVerifyRefuses(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "ids.csv")
	if err := os.WriteFile(file, []byte("a,b\n1,2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--workers", "5-3"}, exitUsage, "two worker IDs are needed, the lower one first"},
		{[]string{"--workers", "0-1024"}, exitUsage, "has worker IDs 0 to 1023"},
		{[]string{"--memory", "3"}, exitUsage, "a size from 1MiB on is needed"},
		{[]string{"--memory", "99999999GiB"}, exitUsage, "a size from 1MiB on is needed"},
		{[]string{"--plain", "--layout", "twitter"}, exitUsage, "leave --layout, --workers and --coordinator out"},
		{[]string{"--earliest", "2090-01-01T00:00:00Z"}, exitUsage, "--earliest 2090-01-01T00:00:00Z is after --latest"},
		{[]string{"--coordinator", ""}, exitUsage, "--coordinator is empty"},
		{[]string{"--column", "id", file}, exitFailure, `there is no column "id"; the columns are ["a" "b"]`},
		{[]string{filepath.Dir(file)}, exitFailure, "is a folder; name its files"},
		{[]string{file + "x"}, exitFailure, "no such file"},
	} {
		wantCall(t, call(t, nil, "1\n", append([]string{"verify"}, tt.args...)...), tt.code, "", tt.want)
	}
	wantCall(t, call(t, nil, "7\n8\n7\n", "verify", "--plain"), exitFailure, "3 IDs: 1 occur more than once\n7 occurs 2 times\n", "")
}
