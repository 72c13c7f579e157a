package server_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/segment"
	"github.com/unalike-id/unalike/segment/segmenttest"
	"github.com/unalike-id/unalike/server"
)

var (
	sections = regexp.MustCompile(`(?s)<section id="(\w+)">(.*?)</section>`)
	tags     = regexp.MustCompile(`<[^>]*>`)
)

// tableOf returns the words of a table of the page: of its head, and of each row.
func tableOf(page, id string) (head string, rows []string) {
	for _, m := range sections.FindAllStringSubmatch(page, -1) {
		if m[1] != id {
			continue
		}
		for i, row := range strings.Split(m[2], "<tr>")[1:] {
			row, _, _ = strings.Cut(row, "</tr>")
			row = strings.TrimSuffix(tags.ReplaceAllString(strings.NewReplacer("</td>", "\t", "</th>",
				"\t").Replace(row), ""), "\t")
			if row = strings.ReplaceAll(row, "\t", " "); i == 0 {
				head = row
			} else {
				rows = append(rows, row)
			}
		}
	}
	return head, rows
}

// TestPage: it has everything without its script, lets nothing else be loaded, and issues nothing.
func TestPage(t *testing.T) {
	f := coordtest.NewFake(coordtest.FakeConfig{})
	g := generator(t, f, core.DefaultLayout())
	r := serve(t, func(c *server.Config) {
		c.Generators = map[string]*core.Generator{"orders": g}
		c.Namespaces, c.Build = map[string]string{"orders": "etcd:/<i>"}, "v1.2.3 <b>"
	})
	now := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	r.ShowWorkerIDs("orders", []coord.Slot{
		{WorkerID: 5, Holder: "gone:1"},
		{
			WorkerID: 7, State: coord.SlotHeld, Holder: "<script>alert(1)</script>", Identity: "\"'&",
			Since: now, Renewed: now, Until: now,
		},
	}, 1022, 1024)
	r.ShowWorkerIDs("none", nil, 0, 0)
	for range 3 {
		r.call("GET", orders+"?count=10")
	}
	r.call("GET", "/v1/generators/none/ids")
	numbersIn(t, r.call("GET", "/v1/sequences/a%2Fb/numbers"), "numbers")
	issued := g.Health().Issued
	id, err := g.Layout().Compose(now, 7, 9)
	if err != nil {
		t.Fatal(err)
	}
	page := r.call("GET", fmt.Sprintf("/?id=%d", id))
	if !strings.Contains(page.Header.Get("Content-Security-Policy"),
		"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'") ||
		page.Header.Get("Cache-Control") != "no-store" ||
		!strings.Contains(page.body, `<noscript><meta http-equiv="refresh" content="5">`) {
		t.Errorf("%s %v\n%s", page.Status, page.Header, page.body)
	}
	if strings.Contains(page.body, "<script>") || strings.Contains(page.body, "<b>\"") ||
		regexp.MustCompile(`(?:src|href)="(?:https?:|//)`).MatchString(page.body) {
		t.Errorf("there is something foreign in it:\n%s", page.body)
	}
	for _, want := range []string{
		"All is well: 1 generator issues IDs, and no tag lacks numbers.",
		"v1.2.3 &lt;b&gt;", "orders: 1,022 of 1,024 free at ",
	} {
		if !strings.Contains(page.body, want) {
			t.Errorf("there is no %q in\n%s", want, page.body)
		}
	}
	for id, want := range map[string][]string{
		"generators": {`orders ready 0 none 0 % \d+ s just now 0 0 etcd:/&lt;i&gt;`},
		"segments":   {`a/b ready 99 100 not yet 0  1 0 just now`},
		"callers": {
			`/v1/generators/{generator}/ids 0 none \d+ [µm]s 0 0`,
			`/v1/sequences/{tag}/numbers 0 none \d+ [µm]s 0 0`,
		},
		"decoder": {`orders 2026-05-04 03:02:01.000 [\d,]+ d a[a-z]+ 7 ` +
			`&lt;script&gt;alert\(1\)&lt;/script&gt; 9 \d+0 to \d+5|orders .*`},
		"workers": {`orders 7 held &lt;script&gt;alert\(1\)&lt;/script&gt; &#34;&#39;&amp; 2026-05-04 ` +
			`03:02:01 .*`, `orders 5 free gone:1 .*`},
	} {
		_, rows := tableOf(page.body, id)
		if len(rows) != len(want) {
			t.Errorf("%s: %q", id, rows)
			continue
		}
		for i := range want {
			if !regexp.MustCompile("^(?:" + strings.NewReplacer("{", `\{`, "}", `\}`).Replace(want[i]) +
				")$").MatchString(rows[i]) {
				t.Errorf("%s: %q, want %q", id, rows[i], want[i])
			}
		}
	}
	for query, want := range map[string]int{
		"": 2, "?worker=GONE": 1, "?worker=script": 1,
		"?worker=nobody": 0,
	} {
		if _, rows := tableOf(r.call("GET", "/"+query).body, "workers"); len(rows) != want {
			t.Errorf("%q: %q", query, rows)
		}
	}
	for _, id := range []string{"x", "-1", "18446744073709551616"} {
		if got := r.call("GET", "/?id="+id); !strings.Contains(got.body,
			`<p class="empty">An ID is a whole number`) {
			t.Errorf("%s: %s", id, got.body)
		}
	}
	if got := g.Health().Issued; got != issued {
		t.Errorf("the page has issued %d IDs", got-issued)
	}
	for _, method := range []string{"POST", "DELETE"} {
		if got := r.call(method, "/"); got.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("%s: %s", method, got.Status)
		}
	}
}

// events reads what watchers of the page are sent until f returns true.
func (r *rig) events(f func(event, data string) bool) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.http.URL+"/page/events", http.NoBody)
	if err != nil {
		r.t.Fatal(err)
	}
	resp, err := r.http.Client().Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	event := ""
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if name, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			event = name
		}
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok && f(event, data) {
			return
		}
	}
	r.t.Errorf("they ended: %v", ctx.Err())
}

// TestPageEvents: a watcher is told of everything at first, then of what changes, at once of
// trouble, and of the end.
func TestPageEvents(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	var tables, same, heads int
	away := false
	r.events(func(event, data string) bool {
		switch event {
		case "table":
			if strings.Contains(data, `"id":"refusals"`) {
				same++
			}
			if tables++; tables == 5 {
				r.fake.Fail(coordtest.Renew, coordtest.ErrUnreachable, coordtest.Forever)
			}
		case "head":
			if heads++; strings.Contains(data, `"text":"Generator orders goes on for `) && !away {
				away = true
				go r.Drain()
			}
		case "stopping":
			return true
		}
		return false
	})
	if tables < 5 || same != 1 || heads < 2 || !away {
		t.Errorf("%d tables, one that stays as it is %d times, %d heads, trouble: %v", tables, same,
			heads, away)
	}
	r.events(func(event, _ string) bool { return event == "stopping" }) // who comes late is told, too
}

// looked counts the looks at the tags.
type looked struct {
	server.Numbers
	times int
}

func (l *looked) Health() []segment.Health { l.times++; return l.Numbers.Health() }

// TestSampleWithoutTags: the tags are looked at for the page alone, and not for each sample.
func TestSampleWithoutTags(t *testing.T) {
	r := serve(t, nil)
	tag := segment.Tag{Name: "t", Next: 1, Step: 10}
	all := &looked{Numbers: numbers(t, segmenttest.NewFake(tag), segment.Config{})}
	r.SetNumbers(all)
	r.Sample()
	if all.times != 0 {
		t.Errorf("a sample looked %d times", all.times)
	}
	if r.call("GET", "/"); all.times != 1 {
		t.Errorf("the page looked %d times", all.times)
	}
}
