package server

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/segment"
)

// leafRoutes adds the pages of Leaf.
func (s *Server) leafRoutes() {
	right := mayGenerate
	if s.cfg.Leaf.Anyone {
		right = anyone
	}
	s.leafRoute(route{pattern: "/api/snowflake/get/{key}", right: right, issues: true},
		failsAsLeaf(s.leafSnowflake))
	s.leafRoute(route{pattern: "/api/segment/get/{key}", right: right, issues: true},
		failsAsLeaf(s.leafSegment))
	s.leafRoute(route{pattern: "/decodeSnowflakeId", right: right}, s.leafDecode)
	s.leafRoute(route{pattern: "/cache", right: mayOperate}, failsAsLeaf(s.leafCache))
	s.leafRoute(route{pattern: "/db", right: mayOperate}, failsAsLeaf(s.leafDB))
}

// leafRoute adds a page that answers every method, with a slash at its end or without, as Leaf
// does.
func (s *Server) leafRoute(rt route, h handler) {
	s.route(s.mux, rt, h)
	rt.pattern += "/{$}" //mutant:leaf-slash
	s.route(s.mux, rt, h)
}

// failsAsLeaf answers every error with 500 and what Leaf says of it.
func failsAsLeaf(h handler) handler {
	return func(w http.ResponseWriter, r *request) error {
		err := h(w, r)
		if err == nil {
			return nil
		}
		p := *problemOf(err, r.detailed())
		p.Message = fmt.Sprintf("Result{id=%d, status=EXCEPTION}", leafCode(err, p.Status))
		p.expected = p.Status != http.StatusInternalServerError //mutant:leaf-expected
		p.Status, p.Title, p.retry = http.StatusInternalServerError,
			http.StatusText(http.StatusInternalServerError), 0
		return &p
	}
}

// leafCode returns the number that Leaf has for an error: -2 for a key that is not known, -3 for a
// clock that went back and for a tag without numbers in memory, and -1 for the rest, as for what
// has not started yet.
func leafCode(err error, status int) int {
	switch {
	case status == http.StatusNotFound:
		return -2
	case errors.Is(err, core.ErrClockRollback), errors.Is(err, segment.ErrUnavailable),
		errors.Is(err, segment.ErrExhausted):
		return -3
	}
	return -1
}

// leafSnowflake answers with the next ID: of the generator that the key names, or of the default
// one.
func (s *Server) leafSnowflake(w http.ResponseWriter, r *request) error {
	key := r.PathValue("key")
	g, err := s.named(key)
	if err != nil {
		g, err = s.named(DefaultName)
	}
	switch {
	case err != nil:
		return problemf(http.StatusNotFound,
			"there is neither a generator of that name nor one that is named %s", DefaultName)
	case !isTwitter(g.Layout()):
		return problemf(http.StatusNotFound,
			"the generator of that name does not have the layout twitter, which Leaf's IDs have")
	}
	ids, err := s.takeIDs(r.Context(), r, g, want{count: 1})
	if err != nil {
		return err
	}
	return plainNumber(w, int64(ids[0]))
}

// leafSegment answers with the next number of a tag.
func (s *Server) leafSegment(w http.ResponseWriter, r *request) error {
	all, err := s.takeNumbers(r.Context(), r, r.PathValue("key"), want{count: 1})
	if err != nil {
		return err
	}
	return plainNumber(w, all[0])
}

// plainNumber answers with a number alone.
func plainNumber(w http.ResponseWriter, n int64) error {
	return text(w, http.StatusOK, strconv.FormatInt(n, 10))
}

// leafDecode answers with the parts of an ID of Twitter's layout, in Leaf's words. The time is UTC.
func (s *Server) leafDecode(w http.ResponseWriter, r *request) error {
	q := r.URL.Query()
	if !q.Has("snowflakeId") {
		return problemf(http.StatusBadRequest, "the parameter snowflakeId is missing")
	}
	id, err := strconv.ParseInt(q.Get("snowflakeId"), 10, 64)
	if err != nil || id < 0 {
		return sendJSON(w, struct {
			Message string `json:"errorMsg"`
		}{"snowflakeId is not a whole number from 0 to 9223372036854775807"})
	}
	p := core.TwitterLayout().Decompose(core.ID(id))
	return sendJSON(w, struct {
		Timestamp string `json:"timestamp"`
		Sequence  string `json:"sequenceId"`
		Worker    string `json:"workerId"`
	}{
		fmt.Sprintf("%d(%s)", p.Time.UnixMilli(), p.Time.UTC().Format("2006-01-02 15:04:05.000")),
		strconv.Itoa(p.Sequence), strconv.Itoa(p.WorkerID),
	})
}

// leafCache answers with the segments in memory, in Leaf's columns: the one in use is number 0.
func (s *Server) leafCache(w http.ResponseWriter, r *request) error {
	set, err := s.sequences()
	if err != nil {
		return err
	}
	t := table{
		ID: "cache", Title: "Segments in memory", Empty: "There are none.",
		Head: columns("name", "init", "next", "#pos", "#value0", "#max0", "#step0", "#value1", "#max1",
			"#step1"),
	}
	for _, h := range set.Health() {
		ahead := h.Next.Last - h.Next.First + 1
		row := []cell{
			words(h.Tag), words(strconv.FormatBool(h.Refills > 0)),
			words(strconv.FormatBool(ahead > 0)),
		}
		for _, n := range []int64{
			0, h.Present.Last + 1 - (h.Left - ahead), h.Present.Last + 1, h.Step,
			h.Next.First, h.Next.Last + 1, h.Step,
		} {
			row = append(row, num(strconv.FormatInt(n, 10)))
		}
		t.Rows = append(t.Rows, row)
	}
	return view{Title: t.Title, Tables: []table{t}}.send(w)
}

// leafDB answers with the tags of the store.
func (s *Server) leafDB(w http.ResponseWriter, r *request) error {
	set, err := s.sequences()
	if err != nil {
		return err
	}
	tags, err := set.Stored(r.Context())
	if err != nil {
		return err
	}
	t := table{
		ID: "db", Title: "Tags in the store", Empty: "There are none.",
		Head: columns("tag", "#max", "#step", "update", "description"),
	}
	for _, tag := range tags {
		if tag.Damage != nil {
			tag.Description = tag.Damage.Error()
		}
		t.Rows = append(t.Rows, []cell{
			words(tag.Name), num(strconv.FormatInt(tag.Next, 10)),
			num(strconv.FormatInt(tag.Step, 10)), words(moment(tag.Updated)), words(tag.Description),
		})
	}
	return view{Title: t.Title, Tables: []table{t}}.send(w)
}
