package server

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/unalike-id/unalike/segment"
)

// storeWait is how long a request that does not ask to wait may take for a segment: the first
// number of a tag always comes from the store.
const storeWait = segment.DefaultRefillTimeout

// checkStore returns nil if numbers of tags can be had or the server was given no store, and
// otherwise why they cannot. It never waits.
func (s *Server) checkStore() error {
	if s.store.Load() == nil {
		return nil
	}
	set, err := s.sequences()
	if err != nil {
		return err
	}
	return set.Check()
}

// errNotOpen says that the server has no tags yet. It wraps the cause if there is one.
var errNotOpen = errors.New("server: the store of the tags is not open yet")

// store is the tags of a server, or why there are none yet.
type store struct {
	Numbers
	err error
}

// sequences returns the tags.
func (s *Server) sequences() (Numbers, error) {
	st := s.store.Load()
	if st == nil {
		return nil, problemf(http.StatusNotFound, "there are no tags here; the server was given no store")
	}
	return st.Numbers, st.err
}

// checkTag returns the problem of a tag that no store can have. What else a store finds wrong is no
// mistake of the caller's.
func checkTag(tag string) error {
	if segment.CheckTag(tag) == nil { //mutant:bad-tag
		return nil
	}
	return problemf(http.StatusBadRequest,
		"a tag is 1 to %d characters of printable UTF-8 without spaces at its ends", segment.MaxTag)
}

// numbers answers with new numbers of a tag.
func (s *Server) numbers(w http.ResponseWriter, r *request) error {
	wants, err := s.wanted(r)
	if err != nil {
		return err
	}
	all, err := s.takeNumbers(r.Context(), r, r.PathValue("tag"), wants)
	if err != nil {
		return err
	}
	sendAll(w, r.buffer, all, "numbers", wants.plain)
	return nil
}

// takeNumbers returns the new numbers of a tag that a request wants, all or none, in its buffer.
func (s *Server) takeNumbers(ctx context.Context, r *request, tag string,
	w want,
) (all []int64, err error) {
	if err := checkTag(tag); err != nil {
		return nil, err
	}
	err = s.fromStore(ctx, r, w, func(ctx context.Context, set Numbers) error {
		all = sized(&r.buffer.numbers, w.count)
		_, err := set.Fill(ctx, tag, all)
		return err
	})
	return all, err
}

// fromStore has fill take what a request wants from the store, for which there is a bound in time.
func (s *Server) fromStore(ctx context.Context, r *request, w want,
	fill func(context.Context, Numbers) error,
) error {
	if err := s.admitCount(r, w.count); err != nil {
		return err
	}
	set, err := s.sequences()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, max(w.wait, storeWait))
	defer cancel()
	return fill(ctx, set)
}

// writer is [Numbers] that can write numbers of tags as texts, as a config.Segments can.
type writer interface {
	FillText(ctx context.Context, tag string, dst []string) (n int, err error)
	FillTextOn(ctx context.Context, tag string, day time.Time, dst []string) (n int, err error)
}

// firstOn is the first day of which there are numbers: each day can make a group in the store.
var firstOn = time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC)

// wantedDay returns the day of the group from which a request wants numbers; the zero time: the
// present group.
func wantedDay(r *request) (time.Time, error) {
	if !r.query.Has("on") {
		return time.Time{}, nil
	}
	day, err := time.Parse(time.DateOnly, r.query.Get("on"))
	if err != nil || day.Before(firstOn) || len(r.query["on"]) > 1 {
		return day, problemf(http.StatusBadRequest, "on is a single day from %s on, for example "+
			"2026-11-30", firstOn.Format(time.DateOnly))
	}
	return day, nil
}

// texts answers with new numbers of a tag, written in its format.
func (s *Server) texts(w http.ResponseWriter, r *request) error {
	wants, err := s.wanted(r)
	if err != nil {
		return err
	}
	if wants.count > smallReply {
		return problemf(http.StatusBadRequest, "count is at most %d here", smallReply)
	}
	day, err := wantedDay(r)
	if err == nil {
		err = checkTag(r.PathValue("tag"))
	}
	if err != nil {
		return err
	}
	all := make([]string, wants.count)
	if err := s.fromStore(r.Context(), r, wants, func(ctx context.Context, set Numbers) error {
		from, ok := set.(writer)
		if !ok {
			return problemf(http.StatusNotFound, "no tag has a format here")
		}
		if day.IsZero() {
			_, err := from.FillText(ctx, r.PathValue("tag"), all)
			return err
		}
		_, err := from.FillTextOn(ctx, r.PathValue("tag"), day, all)
		return err
	}); err != nil {
		return err
	}
	if wants.plain {
		return send(w, textType, []byte(strings.Join(all, "\n")+"\n"))
	}
	return sendJSON(w, struct {
		Texts []string `json:"texts"`
	}{all})
}

// sequenceView is a tag in the list.
type sequenceView struct {
	Tag      string  `json:"tag"`
	Ready    bool    `json:"ready"`
	Left     int64   `json:"left"`
	Step     int64   `json:"step"`
	Issued   uint64  `json:"issued"`
	TimeLeft float64 `json:"time_left_seconds,omitempty"`
	Error    string  `json:"error,omitempty"` // for who may operate
}

// listSequences answers with all tags.
func (s *Server) listSequences(w http.ResponseWriter, r *request) error {
	set, err := s.sequences()
	if err != nil {
		return err
	}
	list := struct {
		Sequences []sequenceView `json:"sequences"`
	}{[]sequenceView{}}
	for _, h := range set.Health() {
		v := sequenceView{
			Tag: h.Tag, Ready: h.Healthy, Left: h.Left, Step: h.Step, Issued: h.Issued,
			TimeLeft: h.TimeLeft.Seconds(),
		}
		if h.Failing != nil && r.detailed() {
			v.Error = h.Failing.Error()
		}
		list.Sequences = append(list.Sequences, v)
	}
	return sendJSON(w, list)
}
