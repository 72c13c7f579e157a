package server

import (
	"cmp"
	"net/http"
	"sync"
	"time"
)

const (
	// smallReply is up to how many IDs or numbers a reply costs no more than the request itself.
	smallReply = 256
	// pieceBytes is how much of a large reply is put together at a time.
	pieceBytes = 32 << 10
	// pieceTime bounds how long a caller may take to read a piece.
	pieceTime = 5 * time.Second
	// refusedEvery is how often the log has a word on what is refused.
	refusedEvery = time.Minute
)

// replyBytes is how much memory a reply of count IDs has.
func replyBytes(count int) int64 { return int64(count)*8 + pieceBytes }

// admitCount takes count IDs or numbers from what the caller's token may have, and the memory for
// them, which is counted if that is much, until the request has been answered.
func (s *Server) admitCount(r *request, count int) error {
	r.buffer = s.buffers.Get().(*buffer)
	if r.limit != nil {
		if err := limited(r, count); err != nil {
			return err
		}
	}
	if count <= smallReply {
		return nil
	}
	n := replyBytes(count)
	if !s.replies.TryAcquire(n) { //mutant:reply-bytes
		p := later("the replies that are under way have all the memory that there is for them")
		p.reason = "reply_bytes"
		return p
	}
	r.held = n
	s.replyBytes.Add(n)
	return nil
}

// limited takes count from the limit of the caller's token.
func limited(r *request, count int) error {
	now := time.Now() //nolint:forbidigo // a rate is no matter of IDs
	if count > r.limit.Burst() {
		return refusal("rate", http.StatusTooManyRequests,
			"this token has %d IDs a second; ask for at most as many at a time", r.limit.Burst())
	}
	taken := r.limit.ReserveN(now, count)
	if wait := taken.DelayFrom(now); wait > 0 {
		taken.CancelAt(now)
		p := refusal("rate", http.StatusTooManyRequests,
			"this token has %d IDs a second, and they are used up", r.limit.Burst())
		p.retry = wait
		return p
	}
	return nil
}

// release gives the memory of a reply back.
func (s *Server) release(r *request) {
	if b := r.buffer; b != nil && cap(b.text) <= keptBuffer && 8*cap(b.ids) <= keptBuffer &&
		8*cap(b.numbers) <= keptBuffer {
		s.buffers.Put(b)
	}
	if r.held > 0 {
		s.replies.Release(r.held)
		s.replyBytes.Add(-r.held)
	}
}

// streams counts the streams of each connection.
type streams struct {
	mu sync.Mutex
	by map[any]int
}

// connectionOf tells the connection of a request from all others: by the address of its own end,
// which is a value of each connection, also where the other end has no name.
func connectionOf(r *http.Request) any {
	return cmp.Or(r.Context().Value(http.LocalAddrContextKey), any(r.RemoteAddr))
}

// enter counts a stream that begins unless its connection has too many. Whoever has entered leaves.
func (s *streams) enter(connection any, most int) (leave func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.by[connection] >= most {
		return nil, refusal("watches", http.StatusTooManyRequests,
			"this connection has %d streams under way, and no more are allowed", most)
	}
	s.by[connection]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.by[connection]--; s.by[connection] == 0 {
			delete(s.by, connection)
		}
	}, nil
}

// refusals are what the log has of what is refused.
type refusals struct {
	mu   sync.Mutex
	seen map[string]*seen // by reason
}

// seen is what was refused for one reason.
type seen struct {
	told  time.Time
	since int // how many there were since then
	total uint64
}

// Refused counts a refusal, and logs once a minute how many there were for its reason, which is one
// of a few words.
func (s *Server) Refused(reason string) {
	if s.cfg.Meter != nil {
		s.cfg.Meter.Refused(reason)
	}
	if n := s.refusals.due(reason); n > 0 {
		s.log.Warn("requests are refused", "reason", reason, "count", n)
	}
}

// due counts a refusal and returns how many are to be told of; 0: it is too early.
func (l *refusals) due(reason string) int {
	now := time.Now() //nolint:forbidigo // when to log is no matter of IDs
	l.mu.Lock()
	defer l.mu.Unlock()
	one := l.seen[reason]
	if one == nil {
		one = new(seen)
		l.seen[reason] = one
	}
	one.total++
	if one.since++; now.Sub(one.told) < refusedEvery {
		return 0
	}
	n := one.since
	one.told, one.since = now, 0
	return n
}
