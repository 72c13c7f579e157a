package lifetime

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// MaxAge is the longest that a connection serves calls. The address of a server is resolved only
// when a connection is opened, so this bounds how long a process goes on with a server after its
// name has moved to another one. A connection in use is replaced at a random age of half of that or
// more, because many processes may have connected together.
const MaxAge = time.Minute

const (
	// attemptTime bounds an attempt to open a successor: with several servers, some may hang.
	attemptTime = 30 * time.Second
	// closeTime is how long [Rotation.Close] waits. A pool may give a connection that does not answer
	// longer.
	closeTime = time.Second
)

// Pool is a pool of connections to one server.
type Pool interface {
	// Connect opens a connection and leaves it in the pool, which has none yet.
	Connect(ctx context.Context) error
	// Connections returns how many connections there are, those included that are being opened.
	Connections() int
	// Close closes the pool after the calls that use it. It may block until they have returned.
	Close()
}

// Rotation holds a pool of connections and replaces it, before the connections in it are older than
// [MaxAge], by one that has a connection already. If none can be opened, the old pool stays in use.
// A Rotation is safe for concurrent use. Make it with [Rotate] or [Keep].
type Rotation[P Pool] struct {
	open func() (P, error)  // nil: the pool is another's, and neither life nor work is used
	life context.Context    // ends with Close
	end  context.CancelFunc // of life
	work sync.WaitGroup     // the attempt under way

	mu      sync.Mutex
	current *member[P]
	attempt chan struct{} // closed when the attempt to open a successor has ended; nil: none is made
	pause   time.Time     // no attempt begins before; monotonic
}

// member is a pool of a [Rotation].
type member[P Pool] struct {
	pool    P
	due     time.Time // when a successor is opened; monotonic
	end     time.Time // when calls begin to wait for it; monotonic
	calls   int       // that use the pool
	retired bool      // the pool is closed when no call uses it
}

// opens notes that the first connection is opened now. Calls that come often do not wait for a
// successor: it has MaxAge/4 to open.
func (m *member[P]) opens() {
	now := Now()
	m.due = now.Add(MaxAge/2 + rand.N(MaxAge/4))
	m.end = now.Add(MaxAge)
}

// Rotate returns a rotation of the pools that open makes. Open contacts nobody.
func Rotate[P Pool](open func() (P, error)) (*Rotation[P], error) {
	pool, err := open()
	if err != nil {
		return nil, err
	}
	r := Keep(pool)
	r.open = open
	r.life, r.end = context.WithCancel(context.Background())
	return r, nil
}

// Keep returns a rotation that neither replaces nor closes a pool. Its owner does.
func Keep[P Pool](pool P) *Rotation[P] {
	return &Rotation[P]{current: &member[P]{pool: pool}}
}

// Current returns the pool of the moment, for what needs no connection.
func (r *Rotation[P]) Current() P {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.current.pool
}

// Enter returns the pool for a call. It waits for a successor of a pool that is too old, for at
// most half of the time that ctx leaves. The caller must call leave.
func (r *Rotation[P]) Enter(ctx context.Context) (pool P, leave func()) {
	if attempt := r.renew(); attempt != nil {
		wait := attemptTime
		if end, ok := ctx.Deadline(); ok {
			wait = min(wait, Until(end)/2)
		}
		ctx, cancel := context.WithTimeout(ctx, wait)
		defer cancel()
		select {
		case <-attempt:
		case <-ctx.Done():
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	m := r.current
	m.calls++
	return m.pool, func() { r.leave(m) }
}

// renew begins to replace the pool if that is due. It returns the attempt that a call has to wait
// for; nil: there is none.
func (r *Rotation[P]) renew() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open == nil || r.life.Err() != nil {
		return nil
	}
	m := r.current
	if m.pool.Connections() == 0 {
		m.opens()
	}
	now := Now()
	if r.attempt == nil && now.After(m.due) && now.After(r.pause) { //mutant:connection-age
		r.attempt = make(chan struct{})
		r.work.Go(r.replace)
	}
	if now.Before(m.end) { //mutant:connection-end
		return nil
	}
	return r.attempt
}

// replace opens a successor of the pool, and retires the pool if that has succeeded.
func (r *Rotation[P]) replace() {
	next, err := r.successor()
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.attempt)
	r.attempt = nil
	if err != nil { //mutant:connection-kept
		r.pause = Now().Add(MaxAge/12 + rand.N(MaxAge/12))
		return
	}
	r.succeed(next)
}

// succeed puts a pool in the place of the current one, which is closed after the calls that use it.
// The caller holds mu.
func (r *Rotation[P]) succeed(next *member[P]) {
	old := r.current
	r.current = next
	old.retired = true
	old.closeUnused()
}

// Rest closes the connections after the calls that use them, unless the pool is another's. The next
// call opens one.
func (r *Rotation[P]) Rest() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open == nil || r.life.Err() != nil || r.current.pool.Connections() == 0 {
		return
	}
	if pool, err := r.open(); err == nil {
		r.succeed(&member[P]{pool: pool})
	}
}

// successor opens a pool with a connection.
func (r *Rotation[P]) successor() (*member[P], error) {
	ctx, cancel := context.WithTimeout(r.life, attemptTime)
	defer cancel()
	m := new(member[P])
	m.opens()
	var err error
	if m.pool, err = r.open(); err != nil {
		return nil, err
	}
	if err = m.pool.Connect(ctx); err != nil {
		go m.pool.Close()
	}
	return m, err
}

// leave ends a call.
func (r *Rotation[P]) leave(m *member[P]) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m.calls--
	m.closeUnused()
}

// closeUnused closes a retired pool that no call uses, without waiting.
func (m *member[P]) closeUnused() {
	if m.retired && m.calls == 0 {
		go m.pool.Close()
	}
}

// Close closes the pool, if it is not another's, and waits a moment for its connections.
func (r *Rotation[P]) Close() {
	if r.open == nil {
		return
	}
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		r.mu.Lock()
		r.end()
		r.mu.Unlock()
		r.work.Wait()
		r.current.pool.Close()
	}()
	select {
	case <-closed:
	case <-time.After(closeTime):
	}
}
