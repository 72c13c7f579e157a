package journal

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/testserver/fulltest"
)

const childEnv = "UNALIKE_FAULTS_JOURNAL_CHILD"

func TestMain(m *testing.M) {
	if path := os.Getenv(childEnv); path != "" {
		child(path)
	}
	os.Exit(m.Run())
}

// child adds IDs and prints after each Add how many there are, until it is killed.
func child(path string) {
	w, err := Create(path, header())
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	for i := core.ID(0); ; i++ {
		// Every third one extends the last run; 4096 runs are soon over, so the file grows.
		if err := w.Add([]core.ID{4 * i, 4*i + 1, 4*i + 3}); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println(3 * (i + 1))
	}
}

func TestWhatWasAcknowledgedSurvivesAKill(t *testing.T) {
	dir := t.TempDir()
	for round := range fulltest.Rounds(5, 100) {
		path := filepath.Join(dir, fmt.Sprint(round))
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), childEnv+"="+path)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines, killAfter := bufio.NewScanner(out), 1+3000*round
		var acknowledged uint64
		for n := 0; lines.Scan(); n++ {
			if n == killAfter {
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := fmt.Sscan(strings.TrimSpace(lines.Text()), &acknowledged); err != nil {
				t.Fatalf("the child says %q", lines.Text())
			}
		}
		_ = cmd.Wait() // it was killed
		r := open(t, path)
		if err := r.Check(); err != nil || r.Closed() {
			t.Errorf("%v, closed %v", err, r.Closed())
		}
		got := ids(r)
		if acknowledged == 0 || uint64(len(got)) < acknowledged {
			t.Errorf("%d IDs were acknowledged, %d are there", acknowledged, len(got))
		}
		for i, id := range got {
			if want := core.ID(i/3*4 + []int{0, 1, 3}[i%3]); id != want {
				t.Fatalf("ID %d is %d instead of %d", i, id, want)
			}
		}
	}
}

func TestNowIsTheSameInEveryProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	before := Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	bufio.NewScanner(out).Scan()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	if last, after := open(t, path).Last(), Now(); last < before || last > after {
		t.Errorf("an ID was added at %d, between %d and %d", last, before, after)
	}
}
