package etcd

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
	"github.com/unalike-id/unalike/segment"
)

// envBorder has the address of the server and the clock of a process that TestBorder starts.
const envBorder = "UNALIKE_TEST_BORDER"

// run is numbers that came one after another in a group.
type run struct {
	day         string
	first, last int64
}

// TestBorder has eight processes whose clocks are up to 2 s apart take numbers over a border of
// groups: none comes twice in a group, and none comes from a group that the clock of its process
// has not reached. Their time zones are their clocks.
func TestBorder(t *testing.T) {
	if os.Getenv(envBorder) != "" {
		atBorder(t)
		return
	}
	t.Parallel()
	const processes, spread = 8, 2 * time.Second
	server := etcdtest.Start(t)
	st := store(t, server, nil)
	if err := st.Create(within(t), segment.Tag{Name: "border", Next: 1, Step: 50}); err != nil {
		t.Fatal(err)
	}
	border := time.Now().Add(5 * time.Second).Truncate(time.Second) // when it is midnight for the clock that is right
	var mu sync.Mutex
	days := map[string][]run{}
	var running sync.WaitGroup
	for i := range processes {
		ahead := time.Duration(i) * spread / (processes - 1)
		running.Go(func() {
			c := exec.CommandContext(within(t), os.Args[0], "-test.run=^TestBorder$", "-test.v")
			c.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d %d", envBorder, server.Endpoint, border.Unix(), ahead/time.Second))
			out, err := c.Output()
			if err != nil {
				t.Errorf("process %d: %v\n%.2000s", i, err, out)
				return
			}
			runs := readRuns(t, string(out))
			mu.Lock()
			defer mu.Unlock()
			for _, r := range runs {
				days[r.day] = append(days[r.day], r)
			}
		})
	}
	running.Wait()
	if len(days) != 2 {
		t.Errorf("there are numbers of %d groups", len(days))
	}
	for day, runs := range days {
		slices.SortFunc(runs, func(a, b run) int { return int(a.first - b.first) })
		all := int64(0)
		for i, r := range runs {
			if i > 0 && r.first <= runs[i-1].last {
				t.Errorf("in %s, %d to %d came after %d to %d", day, r.first, r.last, runs[i-1].first, runs[i-1].last)
			}
			all += r.last - r.first + 1
		}
		t.Logf("%s: %d numbers up to %d", day, all, runs[len(runs)-1].last)
		if all < 10_000 {
			t.Errorf("in %s there are %d numbers: is there a load?", day, all)
		}
	}
}

// readRuns reads what a process has printed.
func readRuns(t *testing.T, out string) (runs []run) {
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		if len(f) != 4 || f[0] != "run" {
			continue
		}
		first, err1 := strconv.ParseInt(f[2], 10, 64)
		last, err2 := strconv.ParseInt(f[3], 10, 64)
		if err1 != nil || err2 != nil {
			t.Errorf("%q", line)
		}
		runs = append(runs, run{f[1], first, last})
	}
	return runs
}

// atBorder is one of the processes: four goroutines take numbers until some seconds after the
// border.
func atBorder(t *testing.T) {
	var endpoint string
	var border, ahead int64
	if _, err := fmt.Sscan(os.Getenv(envBorder), &endpoint, &border, &ahead); err != nil {
		t.Fatal(err)
	}
	midnight := time.Unix(border, 0).UTC()
	passed := midnight.Sub(midnight.Truncate(24 * time.Hour))
	zone := time.FixedZone("border", int(24*time.Hour/time.Second)-int(passed/time.Second)+int(ahead))
	s, err := segment.Open(within(t), "etcd://"+endpoint+"/orders", segment.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	g, err := segment.NewGroups(s, "border", segment.Daily, zone, segment.Config{MaxStep: 5000})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := g.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	}()
	day := func() string { return time.Now().In(zone).Format(time.DateOnly) }
	out := bufio.NewWriter(os.Stdout)
	defer func() {
		if err := out.Flush(); err != nil {
			t.Error(err)
		}
	}()
	ctx := within(t)
	var mu sync.Mutex
	var running sync.WaitGroup
	for range 4 {
		running.Go(func() {
			var r run
			pace := time.NewTicker(10 * time.Millisecond)
			defer pace.Stop()
			for time.Now().Unix() < border+4 {
				for range 10 {
					before := day()
					first, n, err := g.Next(ctx)
					if err != nil {
						t.Error(err)
						return
					}
					got := first.Format(time.DateOnly)
					if got < before || got > day() {
						t.Errorf("a number of %s came; the clock was at %s, and is at %s", got, before, day())
					}
					if got == r.day && n == r.last+1 {
						r.last = n
						continue
					}
					mu.Lock()
					r.print(out)
					mu.Unlock()
					r = run{got, n, n}
				}
				<-pace.C
			}
			mu.Lock()
			r.print(out)
			mu.Unlock()
		})
	}
	running.Wait()
}

func (r run) print(w *bufio.Writer) {
	if r.day != "" {
		_, _ = fmt.Fprintln(w, "run", r.day, r.first, r.last) // what fails is told by Flush
	}
}
