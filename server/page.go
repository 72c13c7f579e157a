package server

import (
	"bytes"
	"compress/gzip"
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

//go:embed page
var pageFiles embed.FS

var pageTemplate = template.Must(template.ParseFS(pageFiles, "page/page.html"))

// pagePolicy lets the page load nothing but its own script and style. The icon that it names is
// empty, so that browsers do not look for one.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
	"img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// snapshot is the live page at one moment, and what its watchers are sent of it.
type snapshot struct {
	*view
	head   []byte
	tables [][]byte
}

// snapshotNow looks at everything.
func (s *Server) snapshotNow() *snapshot {
	f := s.facts()
	v := s.viewOfFacts(&f)
	shot := &snapshot{view: v, head: marshal(v.Head)}
	for _, t := range v.Tables {
		shot.tables = append(shot.tables, marshal(t))
	}
	return shot
}

// marshal returns JSON of strings and their lists, for which there is always some.
func marshal(v any) []byte {
	text, _ := json.Marshal(v)
	return text
}

// pagePath is the pattern of the page.
const pagePath = "/{$}"

// pageRoutes adds the page for operators.
func (s *Server) pageRoutes(mux *http.ServeMux) {
	s.route(mux, route{
		pattern: pagePath, methods: reads, right: Operate,
		takes: []string{"id", "worker"},
	}, s.page)
	s.route(mux, route{pattern: "/page/events", methods: http.MethodGet, right: Operate, takes: none},
		s.pageEvents)
	s.assetRoutes(mux)
}

// assetRoutes adds what the page and the tables of Leaf need.
func (s *Server) assetRoutes(mux *http.ServeMux) {
	for name, kind := range map[string]string{
		"style.css": "text/css",
		"script.js": "text/javascript",
	} {
		s.route(mux, route{pattern: "/page/" + name, methods: reads, right: Operate, takes: none},
			func(w http.ResponseWriter, r *request) error {
				text, err := pageFiles.ReadFile("page/" + name)
				if err != nil {
					return err
				}
				return compressed(w, r, kind+"; charset=utf-8", text)
			})
	}
}

// page answers with the state of everything.
func (s *Server) page(w http.ResponseWriter, r *request) error {
	v := *s.shots.get().view
	if v.ID = r.query.Get("id"); v.ID != "" {
		t := s.decoded(v.ID, time.Now()) //nolint:forbidigo // the page has the machine's time
		v.Decoded = &t
	}
	if v.Query = r.query.Get("worker"); v.Query != "" {
		v.Tables = slices.Clone(v.Tables)
		for i, t := range v.Tables {
			if t.ID == workersID {
				v.Tables[i].Rows = rowsWith(t.Rows, v.Query)
			}
		}
	}
	return v.send(w, r)
}

// rowsWith returns the rows that have a text in them.
func rowsWith(rows [][]cell, text string) (found [][]cell) {
	text = strings.ToLower(text)
	for _, row := range rows {
		if slices.ContainsFunc(row, func(c cell) bool {
			return strings.Contains(strings.ToLower(c.Text), text)
		}) {
			found = append(found, row)
		}
	}
	return found
}

// send answers with the page.
func (v view) send(w http.ResponseWriter, r *request) error {
	var b bytes.Buffer
	if err := pageTemplate.Execute(&b, v); err != nil {
		return err
	}
	w.Header().Set("Content-Security-Policy", pagePolicy)
	w.Header().Set("Referrer-Policy", "no-referrer")
	return compressed(w, r, "text/html; charset=utf-8", b.Bytes())
}

// compressed answers with a text, in less bytes if the caller can read that.
func compressed(w http.ResponseWriter, r *request, kind string, text []byte) error {
	out, end := compressing(w, r, kind)
	defer end()
	_, _ = out.Write(text) // who does not read it has gone
	return nil
}

// flusher is a writer that can be told to send what it has.
type flusher interface {
	io.Writer
	Flush() error
}

// compressing returns what writes to w in less bytes if the caller can read that. Call end when all
// is written.
func compressing(w http.ResponseWriter, r *request, kind string) (out flusher, end func()) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Vary", "Accept-Encoding")
	if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		return plainFlusher{w, http.NewResponseController(w)}, func() {}
	}
	w.Header().Set("Content-Encoding", "gzip")
	zip := gzip.NewWriter(w)
	return zip, func() { _ = zip.Close() }
}

// plainFlusher writes to an answer as it is.
type plainFlusher struct {
	io.Writer
	*http.ResponseController
}

// mostViewers is how many may watch the page at a time: what compresses it has a megabyte for each.
const mostViewers = 32

// pageEvents sends what changes on the page, once a second and at once when what it says changes.
func (s *Server) pageEvents(w http.ResponseWriter, r *request) error {
	leave, err := s.watches.enter(connectionOf(r.Request), s.cfg.MaxWatches)
	if err != nil {
		return err
	}
	defer leave()
	defer s.viewers.Add(-1)
	if s.viewers.Add(1) > mostViewers {
		return refusal("watches", http.StatusTooManyRequests,
			"the page has %d watchers, and no more are allowed", mostViewers)
	}
	out, end := compressing(w, r, "text/event-stream")
	defer end()
	control := http.NewResponseController(w)
	var sent *snapshot
	event := func(name string, text []byte) {
		// flush tells whether anybody reads it
		_, _ = fmt.Fprintf(out, "event: %s\ndata: %s\n\n", name, text)
	}
	flush := func() error {
		if err := out.Flush(); err != nil {
			return err
		}
		return control.Flush()
	}
	ctx := context.WithValue(r.Context(), requestKey{}, r)
	_ = tell(ctx, s, sampleEvery, s.shots.get, saysOther, func(now *snapshot) error {
		event("head", now.head)
		for i, t := range now.tables {
			if sent == nil || i >= len(sent.tables) || !bytes.Equal(t, sent.tables[i]) {
				event("table", t)
			}
		}
		sent = now
		return flush()
	})
	if s.draining() { // else the watcher has gone
		event("stopping", []byte("{}"))
		return flush()
	}
	return nil
}

// saysOther reports whether a page says something else than before.
func saysOther(a, b *snapshot) bool {
	return a == nil || !slices.Equal(a.Head.Says, b.Head.Says)
}
