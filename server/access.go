package server

import (
	"encoding/binary"
	"encoding/hex"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/unalike-id/unalike/internal/logs"
)

// Meter shows a server to whoever watches it. Its methods must not block. It is the result of
// metrics.RegisterServer.
type Meter interface {
	// Request counts a request that was answered. The handler is the pattern of its route.
	Request(handler, method string, status int, took time.Duration)
	// Refused counts a request or a connection that was refused for a reason, which is one of a few
	// words.
	Refused(reason string)
	// WorkerIDs shows how many worker IDs of a generator's namespace are in each state.
	WorkerIDs(generator string, byState map[string]int)
	// Gauge shows a figure that rises and falls, with what it is. New calls it.
	Gauge(name, help string, value func() int64) error
	// Store shows whether the tags have numbers, and if not why. New calls it if there are tags.
	Store(check func() error)
}

const (
	requestID    = "X-Request-Id"
	maxRequestID = 128
)

// identify sends the ID that a request came with back, or one that is made for the log.
func (s *Server) identify(r *request) {
	id := r.Header.Get(requestID)
	if id == "" || !plainWord(id) {
		if s.cfg.AccessLog == AccessOff {
			return
		}
		id = newRequestID()
	}
	r.id[0] = id
	r.answer.Header()[requestID] = r.id[:]
}

// newRequestID returns 128 random bits. It is no secret.
func newRequestID() string {
	var text [2 * 16]byte
	bits := binary.BigEndian.AppendUint64(text[:0], rand.Uint64())
	bits = binary.BigEndian.AppendUint64(bits, rand.Uint64())
	return hex.EncodeToString(bits)
}

// plainWord reports whether a word of a caller may stand in a header and in the log.
func plainWord(word string) bool {
	for _, c := range []byte(word) {
		if c <= ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return len(word) <= maxRequestID
}

// answered counts a request, and logs it if that is wanted. The log has no query and no header, in
// which a token may be.
func (s *Server) answered(rt *route, r *request, begun time.Time) {
	took := time.Since(begun) //nolint:forbidigo // how long requests take is no matter of IDs
	status := r.answer.status
	if status == 0 {
		status = http.StatusOK
	}
	rt.traffic.count(rt.issues, status, took)
	if s.cfg.Meter != nil {
		s.cfg.Meter.Request(rt.pattern, r.Method, status, took)
	}
	level := slog.LevelInfo
	switch {
	case s.cfg.AccessLog == AccessOff:
		return
	case status >= http.StatusBadRequest:
		level = slog.LevelWarn
	case s.cfg.AccessLog == AccessErrors:
		return
	}
	if !rt.log.Enabled(r.Context(), level) {
		return
	}
	// slog.Logger.Log would look for its caller first, which costs as much as all of the line
	line := slog.NewRecord(begun.Add(took), level, "request", 0)
	line.AddAttrs(slog.String("method", r.Method), slog.Int("status", status),
		slog.Duration("took", took), slog.String("from", r.RemoteAddr),
		slog.String("request_id", r.id[0]))
	logs.Post(r.Context(), rt.log, line)
	if s.draining() {
		logs.Flush(s.log) // the process may end next
	}
}
