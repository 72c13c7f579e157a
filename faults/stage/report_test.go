package stage

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestReport(t *testing.T) {
	var b strings.Builder
	err := Report(&b, []Result{
		{Number: 2, Scenario: "b", Backend: "etcd", IDs: 5, Failures: []string{"it was worse"}},
		{Number: 2, Scenario: "b", Backend: "etcd", IDs: 1234567, Duplicates: 2, Recovery: 1500 * time.Millisecond, Took: 90 * time.Second, Failures: []string{"it is bad"}, Kept: "here"},
		{Number: 1, Scenario: "a", Backend: "static", IDs: 999, Interruption: 57 * time.Millisecond, Took: 2 * time.Second},
		{Number: 3, Scenario: "c", Backend: "zk", Skipped: "not installed"},
		{Number: 4, Scenario: "d", Backend: "etcd", IDs: 1000, Duplicates: 10, Expected: true},
	})
	want := `| | scenario | back end | IDs issued | duplicates | interruption | time to recover | took | result |
|--:|---|---|--:|--:|--:|--:|--:|---|
| 1 | a | static | 999 | 0 | 57ms |  | 2.0s | passed |
| 2 | b | etcd | 1,234,567 | 2 |  | 1.5s | 1m30s | **FAILED** |
| 3 | c | zk | 0 | 0 |  |  |  | not run |
| 4 | d | etcd | 1,000 | 10 |  |  |  | passed: duplicates are expected |

4 runs, 1 failed, 1 not run; 1,236,566 IDs, 2 duplicates where none are expected.

- b on etcd: it is bad (journals: here)
- c on zk was not run: not installed
`
	if err != nil || b.String() != want {
		t.Errorf("%v\n%s\nwant\n%s", err, &b, want)
	}
}

func TestReadResults(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results")
	if r, err := ReadResults(path); len(r) > 0 || err != nil {
		t.Errorf("no file: %v, %v", r, err)
	}
	if err := os.WriteFile(path, []byte("{\"scenario\":\"a\"}\n\nnonsense\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadResults(path); err == nil || !strings.Contains(err.Error(), "line 3 is no result") {
		t.Errorf("the error is %v; want one about line 3", err)
	}
}

func TestSelect(t *testing.T) {
	all := []Scenario{
		{Number: 1, Name: "kill-loop", Backends: []string{"static", "etcd"}, Short: &Short{}},
		{Number: 2, Name: "clock-steps", Backends: []string{"etcd"}},
		{Number: 3, Name: "outage", Backends: []string{"etcd", "zk"}, Short: &Short{Backends: []string{"zk"}}},
	}
	for _, c := range []struct {
		names   []string
		backend string
		short   bool
		want    string // the jobs, or the error
	}{
		{want: "kill-loop on static, kill-loop on etcd, clock-steps on etcd, outage on etcd, outage on zk"},
		{backend: "etcd", want: "kill-loop on etcd, clock-steps on etcd, outage on etcd"},
		{short: true, want: "kill-loop on static, kill-loop on etcd, outage on zk"},
		{short: true, backend: "etcd", want: "kill-loop on etcd"},
		{short: true, names: []string{"outage"}, want: "outage on etcd, outage on zk"},
		{names: []string{"clock-steps"}, short: true, want: "clock-steps on etcd"},
		{names: []string{"2", "1"}, backend: "etcd", want: "kill-loop on etcd, clock-steps on etcd"},
		{backend: "mysql", want: `no scenario runs on the back end "mysql"; there are etcd, static, zk`},
		{names: []string{"2"}, backend: "static", want: "scenario clock-steps runs on etcd, not on static"},
		{names: []string{"clock-stepz"}, want: `no scenario has the name or number "clock-stepz"; did you mean clock-steps? 'faults list' shows all`},
		{names: []string{"7"}, want: `no scenario has the name or number "7"; there are kill-loop, clock-steps, outage`},
	} {
		jobs, err := Select(all, c.names, c.backend, c.short)
		var got []string
		for _, j := range jobs {
			got = append(got, j.Scenario.Name+" on "+j.Backend)
		}
		if err != nil {
			got = []string{err.Error()}
		}
		if got := strings.Join(got, ", "); got != c.want {
			t.Errorf("%q on %q, short %v: %s; want %s", c.names, c.backend, c.short, got, c.want)
		}
	}
}

func TestLongestGap(t *testing.T) {
	for _, c := range []struct {
		name          string
		runs, excused []span
		end           int64
		want          time.Duration
	}{
		{name: "none", end: 100},
		{"to the end", []span{{10, 20}}, nil, 50, 30},
		{"between", []span{{90, 100}, {10, 20}, {30, 40}}, nil, 100, 50},
		{"side by side", []span{{10, 60}, {20, 30}, {50, 70}}, nil, 71, 1},
		{"excused", []span{{10, 20}, {90, 100}}, []span{{30, 50}, {40, 60}, {0, 12}}, 100, 40},
		{"all excused", []span{{10, 20}, {90, 100}}, []span{{0, 200}}, 130, 0},
	} {
		if got := longestGap(c.runs, c.excused, c.end); got != c.want {
			t.Errorf("%s: %v; want %v", c.name, got, c.want)
		}
	}
}
