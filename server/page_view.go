package server

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/segment"
)

// workersID names the table of worker IDs, whose rows can be searched.
const workersID = "workers"

// mostRows is how many rows of a table are shown.
const mostRows = 2048

// view is a page, as its template shows it.
type view struct {
	Title   string // empty: it is the live page
	Head    head
	Tables  []table
	Query   string // what rows of worker IDs have in them
	ID      string // what is decoded
	Decoded *table // nil: nothing
}

// head is what the page begins with.
type head struct {
	Says  []remark `json:"says"`
	Clock string   `json:"clock"`
	Up    string   `json:"up"`
	Build string   `json:"build"`
}

// table is a part of the page.
type table struct {
	ID    string   `json:"id"`
	Title string   `json:"-"`
	Note  string   `json:"note"`
	Empty string   `json:"-"` // what is said when there are no rows
	Head  []cell   `json:"-"`
	Rows  [][]cell `json:"rows"`
}

// cell is a cell of a table.
type cell struct {
	Text  string `json:"t"`
	Class string `json:"c,omitempty"` // a level, or num for figures
	Path  string `json:"d,omitempty"` // of a bar or a line, 60 wide and 12 high
}

// num returns a cell with a figure, and words one with text.
func num(text string) cell   { return cell{Text: text, Class: "num"} }
func words(text string) cell { return cell{Text: text} }

// columns returns the head of a table: names with a "#" in front are of figures.
func columns(names ...string) (all []cell) {
	for _, name := range names {
		if text, ok := strings.CutPrefix(name, "#"); ok {
			all = append(all, num(text))
		} else {
			all = append(all, words(name))
		}
	}
	return all
}

// bar returns a cell with a bar for a share.
func bar(share float64, text string) cell {
	return cell{text, "num bar", fmt.Sprintf("M0 2h%.1fv8H0z", 60*min(max(share, 0), 1))}
}

// line returns a cell with a line through values, the newest on the right.
func line(values []float64) cell {
	top := 0.0
	for _, v := range values {
		top = max(top, v)
	}
	if top == 0 {
		return cell{"none", "num line", ""}
	}
	var path strings.Builder
	for i, v := range values {
		fmt.Fprintf(&path, "%c%d %.1f", "ML"[min(i, 1)], 60-len(values)+1+i, 11.5-11*v/top)
	}
	return cell{"peak " + figure(top), "num line", path.String()}
}

// viewOfFacts returns the live page.
func (s *Server) viewOfFacts(f *facts) *view {
	tables := []table{generatorTable(f)}
	if f.segments {
		tables = append(tables, segmentTable(f))
	}
	return &view{
		Head: head{
			says(f), f.now.UTC().Format(time.TimeOnly) + " UTC", span(f.up), s.cfg.Build,
		},
		Tables: append(tables, s.callerTable(f), refusalTable(f), workerTable(f)),
	}
}

func generatorTable(f *facts) table {
	t := table{
		ID: "generators", Title: "Generators", Empty: "This server has no generators.",
		Head: columns("Name", "State", "#IDs/s", "#Last minute", "#Of ceiling", "#Window left",
			"#Renewed", "#Failed/min", "#Worker IDs", "Namespace"),
	}
	for i := range f.generators {
		g := &f.generators[i]
		h, key := g.health, "ids "+g.name
		is := cell{Text: "ready", Class: levelWell}
		if !h.Healthy {
			is = cell{Text: "no IDs", Class: levelDown}
		}
		var held []string
		for _, w := range h.Workers {
			if w.WorkerID >= 0 {
				held = append(held, strconv.Itoa(w.WorkerID))
			}
		}
		renewed, window, left := "never", 0.0, "ended"
		if h.WindowLeft > 0 {
			left = span(h.WindowLeft)
		}
		if !h.LastRenewal.IsZero() {
			age := f.now.Sub(h.LastRenewal)
			renewed, window = ago(age), h.WindowLeft.Seconds()/max(h.WindowLeft+age, 1).Seconds()
		}
		share := f.past.rate(key) / g.ceiling()
		t.Rows = append(t.Rows, []cell{
			words(g.name), is, num(figure(f.past.rate(key))), line(f.past.rates(key)),
			bar(share, percent(share)), bar(window, left),
			num(renewed), num(figure(f.past.minute("errors " + g.name))),
			num(cmp.Or(strings.Join(held, ", "), "none")), words(g.namespace),
		})
	}
	return t
}

// percent prints a share, which may be small.
func percent(share float64) string {
	if share > 0 && share < 0.001 {
		return "< 0.1 %"
	}
	return figure(100*share) + " %"
}

func workerTable(f *facts) table {
	t := table{
		ID: workersID, Title: "Worker IDs", Empty: "None were listed yet.",
		Head: columns("Generator", "#Worker ID", "State", "Holder", "Identity", "Since", "Renewed",
			"Window until"),
	}
	var remarks []string
	for _, g := range f.generators {
		if g.workers == nil {
			continue
		}
		remarks = append(remarks, fmt.Sprintf("%s: %s of %s free at %s UTC", g.name,
			figure(float64(g.workers.free)), figure(float64(g.workers.of)),
			g.workers.at.UTC().Format(time.TimeOnly)))
		for _, w := range g.workers.slots {
			t.Rows = append(t.Rows, []cell{
				words(g.name), num(strconv.Itoa(w.WorkerID)), words(w.State.String()), words(w.Holder),
				words(w.Identity),
				words(moment(w.Since)), words(moment(w.Renewed)), words(moment(w.Until)),
			})
		}
	}
	t.Note = strings.Join(remarks, "; ")
	return t.cut(mostRows)
}

// cut leaves the first rows, and says so.
func (t table) cut(most int) table {
	if n := len(t.Rows); n > most {
		t.Rows = t.Rows[:most]
		t.Note = strings.TrimPrefix(t.Note+fmt.Sprintf("; %s of %s rows are shown", figure(float64(most)),
			figure(float64(n))), "; ")
	}
	return t
}

// mostTags is how many tags are shown: they are sent again whenever one has changed.
const mostTags = 200

func segmentTable(f *facts) table {
	t := table{
		ID: "segments", Title: "Segments", Empty: "The store has no tags, or has not answered yet.",
		Head: columns("Tag", "State", "#Left", "#Of step", "Next", "#Numbers/s", "#Lasts", "#Refills",
			"#Failed", "#Last take"),
	}
	for _, h := range f.tags {
		if h.Refills+h.Failures == 0 {
			t.Rows = append(t.Rows, []cell{words(h.Tag), words("not asked for")})
			continue
		}
		next, lasts, taken := "not yet", "", "never"
		if h.Next.Last >= h.Next.First {
			next = "in memory"
		}
		if h.TimeLeft > 0 {
			lasts = span(h.TimeLeft)
		}
		if !h.LastRefill.IsZero() {
			taken = ago(f.now.Sub(h.LastRefill))
		}
		t.Rows = append(t.Rows, []cell{
			words(h.Tag), stateOfTag(h), num(figure(float64(h.Left))),
			bar(float64(h.Left)/float64(max(h.Step, 1)), figure(float64(h.Step))), words(next),
			num(figure(h.Rate)), num(lasts), num(figure(float64(h.Refills))),
			num(figure(float64(h.Failures))), num(taken),
		})
	}
	slices.SortStableFunc(t.Rows, func(a, b []cell) int {
		return urgency[a[1].Class] - urgency[b[1].Class]
	})
	return t.cut(mostTags)
}

func stateOfTag(h segment.Health) cell {
	switch {
	case h.Failing == nil:
		return cell{Text: "ready", Class: levelWell}
	case h.Err != nil:
		return cell{Text: "no numbers", Class: levelDown}
	}
	return cell{Text: "not refilled", Class: levelWarn}
}

func (s *Server) callerTable(f *facts) table {
	t := table{
		ID: "callers", Title: "Callers", Empty: "Nobody has asked yet.",
		Note: counted(int(f.inFlight), "request or stream", "requests and streams") + " under way",
		Head: columns("Route", "#Requests/s", "#Last minute", "#99 % took at most", "#Refused/min",
			"#Failed/min"),
	}
	for _, pattern := range s.patterns {
		if s.traffic[pattern].requests.Load() == 0 || pattern == pagePath ||
			strings.HasPrefix(pattern, "/page/") {
			continue
		}
		slow := ""
		if d := s.traffic[pattern].slow(); d > 0 {
			slow = span(d)
		}
		key := "requests " + pattern
		t.Rows = append(t.Rows, []cell{
			words(pattern), num(figure(f.past.rate(key))), line(f.past.rates(key)), num(slow),
			num(figure(f.past.minute("refused " + pattern))),
			num(figure(f.past.minute("failed " + pattern))),
		})
	}
	return t
}

func refusalTable(f *facts) table {
	t := table{
		ID: "refusals", Title: "Refusals", Empty: "Nothing was refused.",
		Head: columns("Reason", "#In the last minute", "#Since the start"),
	}
	last := f.past[len(f.past)-1].counts
	for _, key := range slices.Sorted(maps.Keys(last)) {
		if reason, ok := strings.CutPrefix(key, "refusals "); ok {
			t.Rows = append(t.Rows, []cell{
				words(strings.ReplaceAll(reason, "_", " ")),
				num(figure(f.past.minute(key))), num(figure(float64(last[key]))),
			})
		}
	}
	return t
}

// decoded returns what an ID is made of, in the layout of each generator.
func (s *Server) decoded(text string, now time.Time) table {
	t := table{
		ID: "decoded", Title: "Parts of the ID",
		Empty: "An ID is a whole number from 0 to 9223372036854775807 in plain digits.",
		Head: columns("Generator", "Time", "#Age", "#Worker ID", "Held by", "#Sequence",
			"Run of its tick"),
	}
	id, err := core.ParseID(text)
	if err != nil {
		return t
	}
	for _, g := range s.all {
		l := g.Layout()
		if id > l.MaxID() {
			t.Rows = append(t.Rows, []cell{words(g.name), words("no ID of its layout")})
			continue
		}
		p := l.Decompose(id)
		old := ago(now.Sub(p.Time))
		if ahead := p.Time.Sub(now); ahead > 0 {
			old = span(ahead) + " ahead"
		}
		first := int64(id) - int64(p.Sequence)
		t.Rows = append(t.Rows, []cell{
			words(g.name), words(p.Time.UTC().Format("2006-01-02 15:04:05.000")), num(old),
			num(strconv.Itoa(p.WorkerID)), words(g.holder(p.WorkerID)),
			num(strconv.Itoa(p.Sequence)),
			{Text: fmt.Sprintf("%d to %d", first, first+int64(l.SequencesPerTick())-1), Class: "wide"},
		})
	}
	return t
}

// holder says who holds a worker ID, or held it last.
func (g *generator) holder(workerID int) string {
	if list := g.workers.Load(); list != nil {
		if i := slices.IndexFunc(list.slots, func(w coord.Slot) bool {
			return w.WorkerID == workerID
		}); i >= 0 {
			w := list.slots[i]
			if w.State == coord.SlotHeld {
				return w.Holder
			}
			return strings.TrimSuffix(w.State.String()+", last "+w.Holder, ", last ")
		}
		return "nobody yet"
	}
	return "not known"
}
