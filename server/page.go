package server

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/unalike-id/unalike/internal/admission"
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
	if set, err := s.sequences(); err == nil {
		f.tags = set.Health()
	}
	v := s.viewOfFacts(f)
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

// assetRoutes adds what the page and the tables of Leaf need.
func (s *Server) assetRoutes(mux *http.ServeMux) {
	for name, kind := range map[string]string{
		"style.css": "text/css",
		"script.js": "text/javascript",
	} {
		s.route(mux, route{pattern: "/page/" + name, methods: reads, right: mayOperate, takes: none},
			func(w http.ResponseWriter, _ *request) error {
				text, err := pageFiles.ReadFile("page/" + name)
				if err != nil {
					return err
				}
				return send(w, []string{kind + "; charset=utf-8"}, text)
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
	return v.send(w)
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
func (v view) send(w http.ResponseWriter) error {
	var b bytes.Buffer
	if err := pageTemplate.Execute(&b, v); err != nil {
		return err
	}
	w.Header().Set("Content-Security-Policy", pagePolicy)
	w.Header().Set("Referrer-Policy", "no-referrer")
	return send(w, []string{"text/html; charset=utf-8"}, b.Bytes())
}

// pageEvents sends what changes on the page, once a second and at once when what it says changes.
func (s *Server) pageEvents(w http.ResponseWriter, r *request) error {
	w.Header().Set("Content-Type", "text/event-stream")
	var sent *snapshot
	event := func(name string, text []byte) {
		// what sends it tells whether anybody reads it
		_, _ = fmt.Fprintf(w, "event: %s\ndata: %s\n\n", name, text)
	}
	control := http.NewResponseController(w)
	ctx := context.WithValue(r.Context(), requestKey{}, r)
	err := tell(ctx, s, sampleEvery, s.shots.get, saysOther, func(now *snapshot) error {
		event("head", now.head)
		for i, t := range now.tables {
			if sent == nil || i >= len(sent.tables) || !bytes.Equal(t, sent.tables[i]) {
				event("table", t)
			}
		}
		sent = now
		return control.Flush()
	})
	if sent == nil {
		return err
	}
	switch { // else the watcher has gone
	case s.draining():
		event("stopping", []byte("{}"))
	case admission.Of(ctx).Old():
		event("again", []byte("{}"))
	}
	return nil
}

// saysOther reports whether a page says something else than before, apart from figures.
func saysOther(a, b *snapshot) bool {
	return a == nil || !slices.EqualFunc(a.Head.Says, b.Head.Says, func(a, b remark) bool {
		return a.Level == b.Level && sameWords(a.Text, b.Text)
	})
}
