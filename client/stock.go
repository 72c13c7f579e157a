package client

import (
	"sync/atomic"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/core"
)

// batch is the IDs of one reply.
type batch struct {
	pieces []piece // none of them empty
	at     int     // the one in use
	half   int     // the one with which the second half begins; 0: there are no halves
	toHalf int64   // how many IDs the first half lacks
	old    *time.Timer
}

// piece is IDs that follow one another: a run of a reply, or the part of one that is in one half of
// it. Callers take from it without a lock.
type piece struct {
	first core.ID
	count int64
	until int64        // in Unix microseconds: after that its IDs are too old
	taken atomic.Int64 // counts on when all have been taken
}

// take returns the next ID of the piece if there is one that is not too old. The timer that drops
// what is too old does not run while the process or the machine is frozen: the clock on the wall,
// read after the ID was taken, tells.
func (p *piece) take(c clock.Clock) (core.ID, bool) {
	//mutant:client-twice
	n := p.taken.Add(1)
	return p.first + core.ID(n-1), n <= p.count && c.UnixMicro() <= p.until //mutant:client-age
}

// used returns how many IDs callers have had of the piece.
func (p *piece) used() int64 { return min(p.taken.Load(), p.count) }

// taken returns how many IDs callers have had of the batch.
func (b *batch) taken() (n int64) {
	for i := range b.pieces[:min(b.at+1, len(b.pieces))] {
		n += b.pieces[i].used()
	}
	return n
}

// end makes the piece have no IDs any more, for callers who are at it already too.
func (p *piece) end() { p.taken.Add(p.count) }

// pop takes an ID from the stock, and asks for more when half of it is used up.
func (c *Client) pop() (core.ID, bool) {
	if p := c.piece.Load(); p != nil {
		if id, ok := p.take(c.clock); ok {
			return id, true
		}
	}
	return c.popNext()
}

// popNext is pop when the piece in use has no IDs any more.
func (c *Client) popNext() (core.ID, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.stock != nil {
		p := c.piece.Load()
		if id, ok := p.take(c.clock); ok {
			return id, true
		}
		if c.clock.UnixMicro() > p.until {
			c.short = false
			c.use(c.reserve) // which may be too old as well
			continue
		}
		if c.stock.at++; c.stock.at < len(c.stock.pieces) {
			c.open()
			continue
		}
		c.short = c.short || c.reserve == nil && c.o.Prefetch > 1
		c.use(c.reserve)
	}
	return 0, false
}

// open gives callers the piece of the stock that is in use from now on, and asks for more IDs if it
// is time to: at half of the stock, or at once if those before were used up sooner than a request
// was answered. The lock is held.
func (c *Client) open() {
	b := c.stock
	c.piece.Store(&b.pieces[b.at])
	if b.at == 0 && c.short || b.at > 0 && b.at == b.half {
		c.fetch()
	}
}

// use makes b, which is new or the spare one, the stock; nil: there is none. What is left of the
// stock until now is not used. The lock is held.
func (c *Client) use(b *batch) {
	if c.stock != nil {
		c.stock.old.Stop()
		c.taken += c.stock.taken()
	}
	if p := c.piece.Load(); p != nil {
		p.end()
	}
	c.stock, c.reserve = b, nil
	if b == nil {
		c.piece.Store(nil)
		return
	}
	c.open()
}

// newBatch returns a batch for all IDs of a reply, in so many runs.
func newBatch(all, runs int) *batch {
	return &batch{pieces: make([]piece, 0, runs+1), toHalf: int64(all / 2)}
}

// add adds a run.
func (b *batch) add(first core.ID, count int64) {
	if b.toHalf > 0 {
		n := min(count, b.toHalf)
		b.pieces = append(b.pieces, piece{first: first, count: n})
		if b.toHalf -= n; b.toHalf == 0 {
			b.half = len(b.pieces)
		}
		first, count = first+core.ID(n), count-n
	}
	if count > 0 {
		b.pieces = append(b.pieces, piece{first: first, count: count})
	}
}

// store keeps the IDs of a reply until they are used or too old. The lock is held.
func (c *Client) store(b *batch) {
	until := c.clock.UnixMicro() + c.o.MaxAge.Microseconds()
	for i := range b.pieces {
		b.pieces[i].until = until
	}
	b.old = time.AfterFunc(c.o.MaxAge, func() { c.drop(b) })
	if c.stock == nil {
		c.use(b)
		return
	}
	c.short = c.short && c.stock.at >= c.stock.half
	c.reserve = b
}

// drop drops what is too old.
func (c *Client) drop(b *batch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch b {
	case c.stock:
		c.short = false // nobody is in a hurry
		c.use(c.reserve)
	case c.reserve:
		c.reserve = nil
	}
}
