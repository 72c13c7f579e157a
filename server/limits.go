package server

import (
	"cmp"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/unalike-id/unalike/internal/admission"
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
	if r.caller.limit != nil {
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
	if count > r.caller.limit.Burst() {
		return refusal("rate", http.StatusTooManyRequests,
			"this token has %d IDs a second; ask for at most as many at a time", r.caller.limit.Burst())
	}
	// a reservation that is cancelled after a later one is not given back
	if r.caller.limit.AllowN(now, count) { //mutant:rate-refused
		return nil
	}
	p := refusal("rate", http.StatusTooManyRequests,
		"this token has %d IDs a second, and they are used up", r.caller.limit.Burst())
	missing := float64(count) - r.caller.limit.TokensAt(now)
	wait := missing / float64(r.caller.limit.Limit()) * float64(time.Second)
	p.retry = max(time.Nanosecond, time.Duration(wait))
	return p
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

// serve answers a request by the pages of mux, if there is room for it.
func (s *Server) serve(mux http.Handler, w http.ResponseWriter, hr *http.Request) {
	r := &request{Request: hr, answer: answer{ResponseWriter: w}}
	r.answer.of = r
	conn := admission.Of(hr.Context())
	rank := s.recognize(r)
	h := w.Header()
	if s.draining() || conn.Old() {
		h["Connection"] = closing // over HTTP/2, net/http makes a GOAWAY of it
	}
	if !conn.Begin(rank) {
		s.Refused("requests")
		// no body: it could wait for a caller who does not read
		h.Set("Content-Length", "0")
		h.Set(retryAfter, "1")
		w.WriteHeader(unavailable)
		return
	}
	defer conn.End()
	mux.ServeHTTP(&r.answer, hr)
	if rank < admission.Known && r.ProtoMajor == 2 {
		r.answer.Flush() // else net/http does, and a reply that is not read would not count
	}
}

// recognize finds out who the caller of a request is.
func (s *Server) recognize(r *request) (rank admission.Rank) {
	known := r.TLS != nil && len(r.TLS.VerifiedChains) > 0
	if s.tokens == nil {
		r.caller.may = mayGenerate | mayOperate
	} else {
		r.caller = s.tokens.callerOf(r.Request)
		known = known || r.caller.may != anyone
	}
	if known {
		return admission.Known
	}
	return admission.Anonymous
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

// seen is what was refused for one reason. A flood of refusals waits for no lock.
type seen struct {
	told  atomic.Int64 // when the log had a word on it, in nanoseconds
	since atomic.Int64 // how many there were since then
	total atomic.Uint64
}

// Refused counts a refusal, and logs once a minute how many there were for its reason, which is one
// of a few words.
func (s *Server) Refused(reason string) {
	if s.cfg.Meter != nil {
		s.cfg.Meter.Refused(reason)
	}
	one, ok := s.refusals.Load(reason)
	if !ok {
		one, _ = s.refusals.LoadOrStore(reason, new(seen))
	}
	if n := one.(*seen).due(); n > 0 { //nolint:forcetypeassert // nothing else is stored
		s.log.Warn("requests are refused", "reason", reason, "count", n)
	}
}

// due counts a refusal and returns how many are to be told of; 0: it is too early.
func (one *seen) due() int64 {
	now := time.Now().UnixNano() //nolint:forbidigo // when to log is no matter of IDs
	one.total.Add(1)
	one.since.Add(1)
	told := one.told.Load()
	if now-told < int64(refusedEvery) || !one.told.CompareAndSwap(told, now) {
		return 0
	}
	return one.since.Swap(0)
}
