package server

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/unalike-id/unalike/core"
)

// clockWait is how long a request that does not ask to wait may take for the clock, beside the time
// that its count takes at the layout's ceiling.
const clockWait = time.Second

// shortBody is how many bytes package net/http counts by itself, before it sends a body in chunks.
const shortBody = 1024

// fastLayout is from how many IDs a second on no service reaches the ceiling of a layout, so that
// nobody waits for long.
const fastLayout = 1_000_000

// keptBuffer is the largest buffer that is kept for the next request, in bytes.
const keptBuffer = 64 << 10

// buffer is the memory of a request.
type buffer struct {
	ids     []core.ID
	numbers []int64
	text    []byte
}

// want is what a request asks for.
type want struct {
	count int
	wait  time.Duration // 0: not for a coordinator or a store
	plain bool          // one a line
}

// wanted reads the parameters of a request.
func (s *Server) wanted(r *request) (want, error) {
	w := want{count: 1, plain: prefersText(r.Header["Accept"])}
	q := r.query
	if q == nil {
		return w, nil
	}
	if q.Has("count") {
		n, err := strconv.Atoi(q.Get("count"))
		if err != nil || !s.countAllowed(n) || strconv.Itoa(n) != q.Get("count") || len(q["count"]) > 1 {
			return w, problemf(http.StatusBadRequest, "count is a single whole number from 1 to %d",
				s.cfg.MaxCount)
		}
		w.count = n
	}
	if q.Has("wait") {
		d, err := time.ParseDuration(q.Get("wait"))
		if err != nil || !s.waitAllowed(d) || len(q["wait"]) > 1 {
			return w, problemf(http.StatusBadRequest,
				"wait is a single duration with a unit, from 0s to %v, for example 2s", s.cfg.MaxWait)
		}
		w.wait = d
	}
	return w, nil
}

func (s *Server) countAllowed(n int) bool { return n >= 1 && n <= s.cfg.MaxCount }

func (s *Server) waitAllowed(d time.Duration) bool { return d >= 0 && d <= s.cfg.MaxWait }

// prefersText reports whether an Accept header asks for plain text and not for JSON.
func prefersText(accept []string) bool {
	for _, line := range accept {
		for kind := range strings.SplitSeq(line, ",") {
			kind, _, _ = strings.Cut(kind, ";")
			switch strings.TrimSpace(kind) {
			case "text/plain":
				return true
			case "application/json":
				return false
			}
		}
	}
	return false
}

// generator returns the generator that the path names.
func (s *Server) generator(r *request) (*generator, error) {
	return s.named(r.PathValue("generator"))
}

// named returns a generator by its name.
func (s *Server) named(name string) (*generator, error) {
	if i, ok := slices.BinarySearch(s.known, name); ok {
		return s.all[i], nil
	}
	return nil, problemf(http.StatusNotFound, "there is no such generator; known are: %s",
		strings.Join(s.known, ", "))
}

// ids answers with new IDs.
func (s *Server) ids(w http.ResponseWriter, r *request) error {
	g, err := s.generator(r)
	if err != nil {
		return err
	}
	return s.idsOf(g, w, r)
}

// idsOf answers with new IDs of a generator.
func (s *Server) idsOf(g *generator, w http.ResponseWriter, r *request) error {
	wants, err := s.wanted(r)
	if err != nil {
		return err
	}
	all, err := s.takeIDs(r.Context(), r, g, wants)
	if err != nil {
		return err
	}
	sendAll(w, r.buffer, all, "ids", wants.plain)
	return nil
}

// takeIDs returns the new IDs that a request wants, all or none, in its buffer. It waits for a
// second, for what the count takes at the layout's ceiling, and for as long as is asked for; but no
// longer than any request, however long a tick is.
func (s *Server) takeIDs(ctx context.Context, r *request, g source, w want) ([]core.ID, error) {
	if err := s.admitCount(r, w.count); err != nil {
		return nil, err
	}
	dst := sized(&r.buffer.ids, w.count)
	l := g.Layout()
	if w.wait == 0 {
		fast := float64(l.SequencesPerTick()) >= fastLayout*l.Unit.Seconds()
		if w.count == 1 && fast || g.Check() != nil {
			id, err := g.Next() // at once: the usual request, without the cost of a timer, or an error
			if dst[0] = id; err != nil || w.count == 1 {
				return dst, err
			}
		}
	}
	most := max(w.wait, DefaultMaxWait)
	if ticks := time.Duration(w.count/l.SequencesPerTick() + 1); ticks < most/(2*l.Unit) {
		most = min(most, w.wait+2*ticks*l.Unit)
	}
	ctx, cancel := context.WithTimeout(ctx, clockWait+most)
	defer cancel()
	_, err := g.Fill(ctx, dst)
	return dst, err
}

// sized returns the first count elements of a buffer, which is made larger if it has less.
func sized[T any](buffer *[]T, count int) []T {
	if cap(*buffer) < count {
		*buffer = make([]T, count)
	}
	return (*buffer)[:count]
}

// sendAll answers with numbers as JSON strings in an object, or one a line. Many are sent in
// pieces, each of which must be read in time.
func sendAll[T ~int64](w http.ResponseWriter, b *buffer, all []T, field string, plain bool) {
	text := b.text[:0]
	if w.Header()["Content-Type"] = textType; !plain {
		w.Header()["Content-Type"] = jsonType
		text = append(append(append(text, `{"`...), field...), `":[`...)
	}
	for i, v := range all {
		if len(text) >= pieceBytes {
			//nolint:forbidigo // connections have the machine's time
			//mutant:server-pieces
			_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(pieceTime))
			if !write(w, text) {
				b.text = nil // HTTP/2 may still read what it could not send: no other request may use it
				return
			}
			text = text[:0]
		}
		switch {
		case plain:
			text = append(strconv.AppendInt(text, int64(v), 10), '\n')
		case i > 0:
			text = append(strconv.AppendInt(append(text, `,"`...), int64(v), 10), '"')
		default:
			text = append(strconv.AppendInt(append(text, '"'), int64(v), 10), '"')
		}
	}
	if !plain {
		text = append(text, "]}\n"...)
	}
	if len(all) <= smallReply {
		setLength(w, text)
	}
	if b.text = text; !write(w, text) {
		b.text = nil
	}
}

var (
	jsonType = []string{"application/json"}
	textType = []string{"text/plain; charset=utf-8"}
)

// setLength says how long a whole body is.
func setLength(w http.ResponseWriter, body []byte) {
	if len(body) > shortBody {
		w.Header()["Content-Length"] = []string{strconv.Itoa(len(body))}
	}
}

// write writes to an answer, and reports whether it could be sent. If not, the caller has gone, and
// the IDs with it.
func write(w http.ResponseWriter, body []byte) bool {
	_, err := w.Write(body)
	return err == nil
}

// send answers with a body.
func send(w http.ResponseWriter, kind []string, body []byte) error {
	w.Header()["Content-Type"] = kind
	setLength(w, body)
	write(w, body)
	return nil
}
