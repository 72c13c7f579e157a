package numbertest

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/unalike-id/unalike/internal/safetytest"
	"github.com/unalike-id/unalike/internal/testserver/fulltest"
	"github.com/unalike-id/unalike/internal/testserver/proctest"
	"github.com/unalike-id/unalike/internal/testserver/proxytest"
	"github.com/unalike-id/unalike/segment"
)

// Storm is a store under faults, whose numbers several processes take.
type Storm struct {
	Addr string                   // of the server; empty: there is none
	URL  func(addr string) string // of the store, with the server at an address
	// Restart kills the server and starts it again; nil: there is none.
	Restart func()
	// Lock keeps others from changing a tag until unlock is called; nil: that cannot be.
	Lock func(tag string) (unlock func())
	// Foreign takes a range of a tag as another program does that knows nothing of this one; nil:
	// there is none.
	Foreign func(tag string) (segment.Range, error)
}

const (
	// stormTime is how long a storm lasts, unless the environment variable stormEnv says otherwise.
	stormTime = 20 * time.Second
	stormEnv  = "UNALIKE_STORM"
	// takers is how many processes take numbers.
	takers = 5
	// takerEnv has the URL of the store in the environment of a taker, and zoneEnv the seconds that
	// its time zone is east of UTC.
	takerEnv, zoneEnv = "UNALIKE_TAKER", "UNALIKE_TAKER_ZONE"
	// recovery is how long after the end of a fault numbers may be missing, and stopping is how long a
	// taker may take to end after SIGTERM, where nothing else runs, see fulltest.Quiet. Elsewhere
	// both are busyTime.
	recovery, stopping, busyTime = 9 * time.Second, 25 * time.Second, 90 * time.Second
)

// tags are taken from by all takers. The last two begin anew with each group.
var tags = []string{"storm", "storm-dense", "storm-large", "storm-days", "storm-months"}

// Taker has a TestMain return at once, unless the test program was started as a taker: then it
// takes numbers until it is told to end, and does not return.
func Taker() {
	url := os.Getenv(takerEnv)
	if url == "" {
		return
	}
	if err := take(url, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// take takes numbers, and prints each run of them, until the process gets SIGTERM.
func take(url string, to io.Writer) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	quiet := slog.New(slog.DiscardHandler)
	store, err := segment.Open(ctx, url, segment.OpenOptions{Logger: quiet})
	if err != nil {
		return err
	}
	defer store.Close()
	east, err := strconv.Atoi(os.Getenv(zoneEnv))
	if err != nil {
		return err
	}
	var printing sync.Mutex
	var running sync.WaitGroup
	says := func(tag string, r segment.Range) {
		printing.Lock()
		defer printing.Unlock()
		_, _ = fmt.Fprintln(to, tag, r.First, r.Last)
	}
	for _, tag := range tags[:3] {
		config := segment.Config{Logger: quiet}
		if tag == "storm-dense" {
			config.MaxStep = 1
		}
		running.Go(func() { takeTag(ctx, store, tag, config, says) })
	}
	for tag, period := range map[string]segment.Period{
		tags[3]: segment.Daily, tags[4]: segment.Monthly,
	} {
		groups, err := segment.NewGroups(store, tag, period, time.FixedZone("", east),
			segment.Config{Logger: quiet})
		if err != nil {
			return err
		}
		running.Go(func() {
			for ctx.Err() == nil {
				_ = within(ctx, func(ctx context.Context) error {
					day, n, err := groups.Next(ctx)
					if err == nil {
						says(tag+day.Format(".2006-01-02"), segment.Range{First: n, Last: n})
					}
					return err
				})
				pause(ctx)
			}
			_ = groups.Close(context.Background())
		})
	}
	running.Wait()
	return nil
}

// takeTag takes numbers of a tag until ctx ends.
func takeTag(ctx context.Context, store segment.Store, tag string, c segment.Config,
	says func(string, segment.Range),
) {
	var numbers *segment.Sequence
	for ctx.Err() == nil {
		if numbers == nil {
			_ = within(ctx, func(ctx context.Context) (err error) {
				numbers, err = segment.New(ctx, store, tag, c)
				return err
			})
			pause(ctx)
			continue
		}
		run := make([]int64, 1)
		if tag == "storm-large" {
			run = make([]int64, 1+rand.IntN(20_000))
		}
		n := 0
		_ = within(ctx, func(ctx context.Context) (err error) {
			n, err = numbers.Fill(ctx, run)
			return err
		})
		for from, i := 0, 1; i <= n; i++ {
			if i == n || run[i] != run[i-1]+1 {
				says(tag, segment.Range{First: run[from], Last: run[i-1]})
				from = i
			}
		}
		pause(ctx)
	}
	if numbers != nil {
		_ = numbers.Close(context.Background())
	}
}

// within makes one call, which the default bounds.
func within(ctx context.Context, call func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, segment.DefaultRefillTimeout)
	defer cancel()
	return call(ctx)
}

// pause lets a moment pass.
func pause(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(time.Duration(rand.IntN(5)) * time.Millisecond):
	}
}

// taker is one of the processes, behind a proxy of its own.
type taker struct {
	*proctest.Process
	proxy  *proxytest.Proxy
	read   chan struct{} // closed when all that it has printed was read
	mu     sync.Mutex
	last   map[string]int64
	newest map[string]time.Time // when a number of a tag came last
}

// storm is a storm under way.
type storm struct {
	Storm
	*testing.T
	mu   sync.Mutex
	runs map[string][]segment.Range
	all  []*taker
}

// Run makes the tags, and has processes take numbers of them while all kinds of faults happen: no
// number comes twice or is below the first, those of a process rise, numbers come again soon after
// each fault, and a process that is told to end does.
func (c Storm) Run(t *testing.T, s Store) {
	fulltest.Heavy(t, "many processes take numbers as fast as they can")
	for _, tag := range tags {
		if err := s.Create(t.Context(), segment.Tag{Name: tag, Next: 1, Step: 100}); err != nil {
			t.Fatal(err)
		}
	}
	w := &storm{Storm: c, T: t, runs: map[string][]segment.Range{}}
	for range takers {
		p := new(taker)
		if c.Addr != "" {
			p.proxy = proxytest.Start(t, c.Addr)
		}
		w.all = append(w.all, p)
	}
	for _, p := range w.all {
		w.start(p)
	}
	lasts, err := time.ParseDuration(cmp.Or(os.Getenv(stormEnv), stormTime.String()))
	if err != nil {
		t.Fatal(err)
	}
	w.served("the start")
	for end := time.Now().Add(lasts); time.Now().Before(end); {
		w.fault()
	}
	for _, p := range w.all {
		w.end(p)
	}
	w.check()
}

// start starts a taker.
func (w *storm) start(p *taker) {
	w.Helper()
	if p.read != nil {
		<-p.read // of the process before it
	}
	exe, err := os.Executable()
	if err != nil {
		w.Fatal(err)
	}
	cmd := exec.CommandContext(w.Context(), exe)
	east := []int{-12, 0, 12}[rand.IntN(3)] * 3600
	at := ""
	if p.proxy != nil {
		at = p.proxy.Addr
	}
	cmd.Env = append(os.Environ(), takerEnv+"="+w.URL(at), fmt.Sprint(zoneEnv, "=", east))
	cmd.Stderr = os.Stderr
	out, to, err := os.Pipe()
	if err != nil {
		w.Fatal(err)
	}
	cmd.Stdout = to
	p.Process = proctest.Start(w, cmd)
	_ = to.Close()
	p.read, p.last, p.newest = make(chan struct{}), map[string]int64{}, map[string]time.Time{}
	go func() {
		defer close(p.read)
		defer out.Close()
		w.reads(p, bufio.NewScanner(out))
	}()
}

// reads reads what a taker prints. A line without its end was cut off.
func (w *storm) reads(p *taker, lines *bufio.Scanner) {
	for lines.Scan() {
		var tag string
		var r segment.Range
		if n, _ := fmt.Sscan(lines.Text(), &tag, &r.First, &r.Last); n != 3 || r.Last < r.First {
			continue
		}
		p.mu.Lock()
		if r.First <= p.last[tag] {
			safetytest.Of(w).Errorf("%s: after %d came %d in one process", tag, p.last[tag], r.First)
		}
		p.last[tag] = r.Last
		p.newest[baseOf(tag)] = time.Now()
		p.mu.Unlock()
		w.mu.Lock()
		w.runs[tag] = append(w.runs[tag], r)
		w.mu.Unlock()
	}
}

// baseOf is the tag that a group is of.
func baseOf(tag string) string {
	base, _, _ := strings.Cut(tag, ".")
	return base
}

// fault makes one thing fail for a time, and waits until all takers get numbers of all tags.
func (w *storm) fault() {
	w.Helper()
	p := w.all[rand.IntN(takers)]
	var some []*proxytest.Proxy // whose connections fail
	for _, each := range w.all {
		if each == p || rand.IntN(3) == 0 {
			some = append(some, each.proxy)
		}
	}
	breaks := []func(p *proxytest.Proxy){
		(*proxytest.Proxy).Hang, (*proxytest.Proxy).Refuse, (*proxytest.Proxy).Swallow,
		(*proxytest.Proxy).Deafen, (*proxytest.Proxy).Reset,
		func(p *proxytest.Proxy) { p.Delay(300 * time.Millisecond) },
	}
	lasts := time.Duration(rand.Int64N(int64(5 * time.Second)))
	var what string
	switch kind := rand.IntN(8); {
	case kind == 0, kind > 3 && w.Addr == "":
		what = "a killed process"
		p.Kill()
		w.start(p)
	case kind == 1:
		what = "killed processes"
		for _, p := range w.all {
			p.Kill()
		}
		for _, p := range w.all {
			w.start(p)
		}
	case kind == 2:
		what = "a paused process"
		w.pause(p, lasts)
	case kind == 3:
		what = "a process that was told to end"
		w.end(p)
		w.start(p)
	case kind == 4 && w.Restart != nil:
		what = "a killed server"
		w.Restart()
	case kind == 5 && w.Lock != nil:
		what = "a locked row"
		unlock := w.Lock(tags[rand.IntN(3)])
		w.wait(lasts)
		unlock()
	case kind == 6 && w.Foreign != nil:
		what = "another program"
		for range 30 {
			if r, err := w.Foreign(tags[0]); err == nil {
				w.mu.Lock()
				w.runs[tags[0]] = append(w.runs[tags[0]], r)
				w.mu.Unlock()
			}
		}
	default:
		what = fmt.Sprint("a torn network of ", len(some))
		broken := breaks[rand.IntN(len(breaks))]
		for _, p := range some {
			broken(p)
		}
		w.wait(lasts)
		for _, p := range some {
			p.Delay(0)
			p.Restore()
		}
	}
	w.served(what)
}

// wait has a fault last.
func (w *storm) wait(d time.Duration) {
	select {
	case <-w.Context().Done():
	case <-time.After(d):
	}
}

// bound is a bound of the product where nothing else runs.
func bound(d time.Duration) time.Duration {
	if fulltest.Quiet() {
		return d
	}
	return busyTime
}

// served waits until all takers have got a number of each tag since the call.
func (w *storm) served(after string) {
	w.Helper()
	limit := bound(recovery)
	began := time.Now()
	for _, p := range w.all {
		for _, tag := range tags {
			proctest.Eventually(w, limit-time.Since(began), "numbers of "+tag+" after "+after, func() bool {
				p.mu.Lock()
				defer p.mu.Unlock()
				return p.newest[tag].After(began)
			})
		}
	}
	w.Logf("%s: numbers again after %v", after, time.Since(began).Round(time.Millisecond))
}

// end tells a taker to end, and waits for it.
func (w *storm) end(p *taker) {
	w.Helper()
	p.Signal(w, syscall.SIGTERM)
	if limit := bound(stopping); !p.EndIn(limit) {
		w.Errorf("a process has not ended within %v of SIGTERM", limit)
	}
}

// check looks for numbers that came twice, or are below the first.
func (w *storm) check() {
	w.Helper()
	for _, p := range w.all {
		<-p.read
	}
	var count int64
	for tag, runs := range w.runs {
		slices.SortFunc(runs, func(a, b segment.Range) int { return cmp.Compare(a.First, b.First) })
		last := int64(0)
		for _, r := range runs {
			if r.First <= last {
				safetytest.Of(w).Errorf("%s: %d came twice, or is below 1", tag, r.First)
			}
			last = max(last, r.Last)
			count += r.Len()
		}
	}
	w.Logf("%d numbers, none twice", count)
	if count == 0 {
		w.Error("no numbers were taken")
	}
}
