package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/unalike-id/unalike/internal/testserver/fulltest"
	"github.com/unalike-id/unalike/internal/testserver/proctest"
	"github.com/unalike-id/unalike/server"
)

// timeout is for a machine that is busy with other things.
const timeout = 90 * time.Second

// browser is the one of all tests.
var browser context.Context

func TestMain(m *testing.M) {
	ctx, end := open(context.Background())
	browser = ctx
	code := m.Run()
	end()
	os.Exit(code)
}

// tab is a tab of the browser, and what is wrong in it.
type tab struct {
	context.Context
	t     *testing.T
	stage *stage

	mu    sync.Mutex
	wrong []string // in the console: reports of the policy and errors of the script, too
	hosts []string // that were asked
}

// newTab opens a tab for a server.
func newTab(t *testing.T, s *stage, err error) *tab {
	t.Helper()
	proctest.Need(t, "chromium", "chromium")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.close)
	w := &tab{t: t, stage: s}
	var cancel context.CancelFunc
	w.Context, cancel = chromedp.NewContext(browser)
	t.Cleanup(cancel)
	w.do(nil, chromedp.Listen(w, w.hear))
	w.do(chromedp.Call(w, log.Enable, cdp.Empty{}))
	return w
}

// do ends the test if an action has failed, and ignores what it returns.
func (w *tab) do(_ any, err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatalf("%v\n%q", err, w.wrong)
	}
}

func (w *tab) hear(event any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch e := event.(type) {
	case *log.EventEntryAdded:
		w.wrong = append(w.wrong, e.Entry.Text)
	case *runtime.EventConsoleAPICalled:
		w.wrong = append(w.wrong, "console: "+string(e.Type))
	case *runtime.EventExceptionThrown:
		w.wrong = append(w.wrong, e.ExceptionDetails.Text)
	case *network.EventRequestWillBeSent:
		if u, err := url.Parse(e.Request.URL); err == nil && u.Scheme != "data" &&
			!slices.Contains(w.hosts, u.Host) {
			w.hosts = append(w.hosts, u.Host)
		}
	}
}

// visit loads the page and marks it, to see whether it is loaded again.
func (w *tab) visit(query string) {
	w.t.Helper()
	w.do(nil, chromedp.Do(w, chromedp.Navigate(w.stage.front.URL+"/"+query)))
	w.do(chromedp.Run(w, chromedp.Evaluate[bool](`window.mark = true`)))
}

// eval returns the value of an expression.
func eval[T any](w *tab, expression string) T {
	w.t.Helper()
	v, err := chromedp.Run(w, chromedp.Evaluate[T](expression))
	if err != nil {
		w.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// await waits until an expression is true, and returns when it was.
func (w *tab) await(expression string) time.Time {
	w.t.Helper()
	return w.until(expression, func() bool { return eval[bool](w, expression) })
}

// until waits until f is true, and returns when it was.
func (w *tab) until(what string, f func() bool) time.Time {
	w.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(timeout); !f(); <-tick.C {
		if time.Now().After(end) {
			w.t.Fatalf("not: %s; the page says\n%s\n%q", what, eval[string](w, `document.body.innerText`),
				w.wrong)
		}
	}
	return time.Now()
}

// says is true once the page begins with a text.
func says(text string) string {
	return fmt.Sprintf(`document.querySelector('#says p span')?.textContent.includes(%q) === true`,
		text)
}

// well checks that the page was loaded once, that nothing was refused or failed in it, and that no
// other host was asked.
func (w *tab) well() {
	w.t.Helper()
	w.await(`window.mark === true`)
	w.mu.Lock()
	defer w.mu.Unlock()
	if host := w.stage.front.Listener.Addr().String(); len(w.wrong) > 0 || len(w.hosts) != 1 ||
		w.hosts[0] != host {
		w.t.Errorf("hosts %q, in the console: %q", w.hosts, w.wrong)
	}
}

// allWell is what the page of a stage says in peace.
const allWell = "All is well: 2 generators issue IDs, and no tag lacks numbers."

// TestLive: figures move without loading the page again; a coordinator that is away is told of
// within 2 s after Health shows it, with the reason; and all is well again by itself. So it is with
// a store.
func TestLive(t *testing.T) {
	s, err := newStage(plain(3), nil)
	w := newTab(t, s, err)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go s.load(ctx, 50)
	w.visit("")
	w.await(says(allWell))
	rate := `document.querySelector('#generators tbody tr td:nth-child(3)').textContent`
	first := eval[string](w, rate)
	w.await(rate + ` !== ` + fmt.Sprintf("%q", first))
	w.await(`document.querySelectorAll('#generators td.line path').length === 2`)
	issued := s.config.Generators["users"].Health().Issued
	cancel()

	s.orders.Outage(true)
	failing := w.until("Health shows it", func() bool {
		return s.generator.Health().Workers[0].Failing != nil
	})
	if took := w.await(says("Generator orders goes on for")).Sub(failing); took > 2*time.Second {
		t.Errorf("the page told of the coordinator after %v", took)
	}
	ended := w.until("there are no IDs", func() bool { return s.generator.Check() != nil })
	if took := w.await(says("1 of 2 generators issues no IDs: orders, because its coordinator does " +
		"not answer.")).Sub(ended); took > 2*time.Second {
		t.Errorf("the page told of the end after %v", took)
	}
	if reason := eval[string](w, `document.querySelector('#says p `+
		`small').textContent`); !strings.Contains(reason, "issue window ended") {
		t.Errorf("the reason is %q", reason)
	}
	s.orders.Recover()
	w.await(says(allWell))

	s.storeAway()
	s.ask(t.Context(), "/v1/sequences/tickets/numbers")
	w.await(says("No numbers for 1 tag: tickets, because the store does not answer."))
	s.store.Intercept(nil)
	s.ask(t.Context(), "/v1/sequences/tickets/numbers")
	w.await(says(allWell))
	w.well()
	if more := s.config.Generators["users"].Health().Issued - issued; more > 200 {
		// what was under way
		t.Errorf("%d IDs were issued by looking", more)
	}
}

// TestRestart: a server that ends is told of, and so is one that is there again, by the same page.
func TestRestart(t *testing.T) {
	s, err := newStage(plain(3), nil)
	w := newTab(t, s, err)
	w.visit("")
	w.await(says(allWell))
	s.stop()
	w.await(says("The server"))
	w.await(`document.body.classList.contains('stale') && document.title.startsWith('down')`)
	w.do(nil, s.serve(s.front.Listener.Addr().String(), plain(5)))
	w.await(says(allWell))
	w.await(`document.querySelectorAll('#workers tbody tr').length === 5 && ` +
		`!document.body.classList.contains('stale') && window.mark === true`)
}

// TestHostile: what others have named is text, whatever is in it.
func TestHostile(t *testing.T) {
	bad := []string{
		`<script>document.title='x'</script>`, `<img src=x onerror=alert(1)>`,
		`"'&amp;</td>`, strings.Repeat("long", 32), `javascript:alert(1)`,
	}
	s, err := newStage(names{holders: bad, tags: bad[:4], unknown: true}, nil)
	w := newTab(t, s, err)
	for _, when := range []string{"live", "as it was loaded"} {
		w.visit("?id=" + url.QueryEscape(`"><script>alert(1)</script>`) + "&worker=")
		w.await(says(allWell))
		if when == "live" {
			w.await(`document.querySelectorAll('#workers tbody tr').length === 0`)
			close(s.listed.known)
		}
		w.await(`document.querySelectorAll('#workers tbody tr').length === 5`)
		for i, want := range bad {
			if got := eval[string](w, fmt.Sprintf(
				`document.querySelector('#workers tbody tr:nth-child(%d) td:nth-child(4)').textContent`,
				i+1)); got != want {
				t.Errorf("%s: %q, want %q", when, got, want)
			}
		}
		w.await(`document.querySelectorAll('main script, main img').length === 0`)
	}
	w.well()
}

// TestNarrow: 360 points are wide enough, for long names, too.
func TestNarrow(t *testing.T) {
	s, err := newStage(names{
		holders: []string{strings.Repeat("holder", 20)},
		tags:    []string{strings.Repeat("tag", 42), "a", "b", "c"},
	}, nil)
	w := newTab(t, s, err)
	w.do(nil, look(w, 360, "dark"))
	w.visit("?id=404187712413696007")
	w.await(says(allWell))
	if got := eval[int](w, `document.documentElement.scrollWidth`); got > 360 {
		t.Errorf("the page is %d wide", got)
	}
	w.well()
}

// TestWithoutScript: everything is there, and the page is loaded again by itself.
func TestWithoutScript(t *testing.T) {
	s, err := newStage(plain(3), nil)
	w := newTab(t, s, err)
	w.do(chromedp.Call(w, emulation.SetScriptExecutionDisabled,
		emulation.SetScriptExecutionDisabledParams{Value: true}))
	w.do(nil, chromedp.Do(w, chromedp.Navigate(s.front.URL)))
	w.await(says(allWell) + ` && document.querySelectorAll('#workers tbody tr').length === 3`)
	began := eval[float64](w, `performance.timeOrigin`)
	s.orders.Outage(true)
	w.await(fmt.Sprintf(`performance.timeOrigin > %f && `, began) + says("orders"))
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.wrong) > 0 {
		t.Errorf("in the console: %q", w.wrong)
	}
}

// TestBasic: a browser asks for the token, and has it for all that the page loads.
func TestBasic(t *testing.T) {
	const token = "operates-0123456789"
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := newStage(plain(3), func(c *server.Config) {
		c.Tokens = []server.TokenFile{{Path: file, Generate: true, Operate: true}}
	})
	w := newTab(t, s, err)
	var asked atomic.Int32
	w.do(nil, chromedp.Listen(w, func(event any) {
		switch e := event.(type) {
		case *fetch.EventAuthRequired:
			asked.Add(1)
			go func() {
				_, _ = chromedp.Call(w, fetch.ContinueWithAuth,
					fetch.ContinueWithAuthParams{
						RequestID: e.RequestID,
						AuthChallengeResponse: &fetch.AuthChallengeResponse{
							Response: fetch.AuthChallengeResponseResponseProvideCredentials, Username: "anybody",
							Password: token,
						},
					})
			}()
		case *fetch.EventRequestPaused:
			go func() {
				_, _ = chromedp.Call(w, fetch.ContinueRequest,
					fetch.ContinueRequestParams{RequestID: e.RequestID})
			}()
		}
	}))
	on := true
	w.do(chromedp.Call(w, fetch.Enable, fetch.EnableParams{HandleAuthRequests: &on}))
	w.visit("")
	w.await(says(allWell))
	clock := eval[string](w, `document.getElementById('clock').textContent`)
	w.await(fmt.Sprintf(`document.getElementById('clock').textContent !== %q`, clock))
	if asked.Load() == 0 {
		t.Error("the browser asked nobody for a token")
	}
}

// TestManyWorkers: 1,024 rows are there at once, and so are those that are looked for, by keyboard
// alone.
func TestManyWorkers(t *testing.T) {
	s, err := newStage(plain(1024), nil)
	w := newTab(t, s, err)
	w.visit("")
	w.await(says("has no worker ID left") +
		` && document.querySelectorAll('#workers tbody tr').length === 1024`)
	w.do(nil, chromedp.Do(w, chromedp.Focus("#filter"), chromedp.SendKeys("#filter", "IDS-1023")))
	w.await(`[...document.querySelectorAll('#workers tbody tr')].filter(tr => ` +
		`!tr.hidden).length === 1`)
	spent := eval[float64](w, `(() => {
		const cell = i => ({t: 'row ' + i});
		const rows = Array.from({length: 1024}, (_, r) => Array.from({length: 8}, (_, c) => cell(r + c)));
		const began = performance.now();
		fillTable({id: 'workers', note: '', rows});
		document.body.offsetHeight;
		return performance.now() - began;
	})()`)
	t.Logf("1,024 rows took %.0f ms", spent)
	if spent > 1000 {
		t.Errorf("1,024 new rows took %.0f ms", spent)
	}
	w.well()
}

// TestHour: a page that is open for an hour needs no more memory than after a minute.
func TestHour(t *testing.T) {
	minutes := fulltest.Rounds(0, 60)
	if minutes == 0 {
		t.Skip("an hour: make full")
	}
	s, err := newStage(plain(200), nil)
	w := newTab(t, s, err)
	go s.load(t.Context(), 20)
	w.visit("")
	heap := func() float64 {
		w.do(chromedp.Call(w, heapprofiler.CollectGarbage, cdp.Empty{}))
		use, err := chromedp.Call(w, runtime.GetHeapUsage, cdp.Empty{})
		w.do(use, err)
		return use.UsedSize
	}
	w.do(nil, chromedp.Do(w, chromedp.Sleep(time.Minute)))
	first, nodes := heap(), eval[int](w, `document.querySelectorAll('*').length`)
	w.do(nil, chromedp.Do(w, chromedp.Sleep(time.Duration(minutes)*time.Minute)))
	if last, now := heap(), eval[int](w, `document.querySelectorAll('*').length`); last > first*1.2 ||
		now > nodes+50 {
		t.Errorf("from %.0f bytes and %d elements to %.0f and %d", first, nodes, last, now)
	}
	w.well()
}
