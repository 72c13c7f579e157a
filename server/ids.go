package server

import (
	"context"
	"net/http"
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
func (s *Server) generator(r *request) (Generator, error) {
	return s.named(r.PathValue("generator"))
}

// named returns a generator by its name.
func (s *Server) named(name string) (Generator, error) {
	g, ok := s.cfg.Generators[name]
	if !ok {
		return g, problemf(http.StatusNotFound, "there is no such generator; known are: %s",
			strings.Join(s.known, ", "))
	}
	return g, nil
}

// ids answers with new IDs.
func (s *Server) ids(w http.ResponseWriter, r *request) error {
	g, err := s.generator(r)
	if err != nil {
		return err
	}
	wants, err := s.wanted(r)
	if err != nil {
		return err
	}
	if err := s.admitCount(r, wants.count); err != nil {
		return err
	}
	b := s.buffers.Get().(*buffer)
	defer s.keep(b)
	if b.ids, err = take(r.Context(), g, b.ids[:0], wants.count, wants.wait); err != nil {
		return err
	}
	sendAll(w, b, b.ids, "ids", wants.plain)
	return nil
}

// take appends count new IDs to dst, which are all or none. It waits for a second, for what the
// count takes at the layout's ceiling, and for wait; but no longer than any request, however long a
// tick is.
func take(ctx context.Context, g Generator, dst []core.ID, count int,
	wait time.Duration,
) ([]core.ID, error) {
	l := g.Layout()
	if count == 1 && wait == 0 && float64(l.SequencesPerTick()) >= fastLayout*l.Unit.Seconds() {
		id, err := g.Next() // the usual request, without the cost of a timer
		return append(dst, id), err
	}
	if cap(dst) < count {
		dst = make([]core.ID, 0, count)
	}
	dst = dst[:count]
	missing := dst
	if wait == 0 && g.Check() != nil {
		id, err := g.Next() // which fails at once, and is counted as a call that failed
		if err != nil {
			return dst, err
		}
		dst[0], missing = id, dst[1:]
	}
	most := max(wait, DefaultMaxWait)
	if ticks := time.Duration(count/l.SequencesPerTick() + 1); ticks < most/(2*l.Unit) {
		most = min(most, wait+2*ticks*l.Unit)
	}
	ctx, cancel := context.WithTimeout(ctx, clockWait+most)
	defer cancel()
	_, err := g.Fill(ctx, missing)
	return dst, err
}

// sendAll answers with numbers as JSON strings in an object, or one a line. Many are sent in
// pieces, each of which must be read in time.
func sendAll[T ~int64](w http.ResponseWriter, b *buffer, all []T, field string, plain bool) {
	text := b.text[:0]
	if !plain {
		text = append(append(append(text, `{"`...), field...), `":[`...)
	}
	for i, v := range all {
		if len(text) >= pieceBytes {
			//mutant:server-pieces
			_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(pieceTime)) //nolint:forbidigo // connections have the machine's time
			setType(w, plain)
			if _, err := w.Write(text); err != nil { // the caller has gone, and the IDs with it
				// HTTP/2 may still read what it could not send: no other request may use that memory
				b.text = nil
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
	if b.text = text; !send(w, text, plain, len(all) <= smallReply) {
		b.text = nil
	}
}

var (
	jsonType = []string{"application/json"}
	textType = []string{"text/plain; charset=utf-8"}
)

// setType says what comes.
func setType(w http.ResponseWriter, plain bool) {
	if w.Header()["Content-Type"] = jsonType; plain {
		w.Header()["Content-Type"] = textType
	}
}

// send answers with a body, or with the last piece of it, and reports whether it could be sent.
func send(w http.ResponseWriter, body []byte, plain, whole bool) bool {
	setType(w, plain)
	if whole && len(body) > shortBody {
		w.Header()["Content-Length"] = []string{strconv.Itoa(len(body))}
	}
	_, err := w.Write(body)
	return err == nil // if not, the caller has gone, and the IDs with it
}

// keep keeps the memory of a request for the next one, unless it is large.
func (s *Server) keep(b *buffer) {
	if cap(b.text) <= keptBuffer && 8*cap(b.ids) <= keptBuffer && 8*cap(b.numbers) <= keptBuffer {
		s.buffers.Put(b)
	}
}
