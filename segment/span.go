package segment

import (
	"sync/atomic"
	"time"
)

// gone is an offset that is beyond every segment and far from the end of int64.
const gone = 1 << 62

// span is a segment in use, or to be used next. How much of it is used is an offset and no number,
// so that callers who find it spent do not wrap at the end of int64.
type span struct {
	used atomic.Int64
	_    [120]byte // what all callers write is not in the cache line of what all of them read

	first, size int64
	// the caller who takes this offset starts the refill; set before anybody sees the span
	mark  int64
	taken time.Time // when the store gave it
	_     [80]byte  // 256 bytes in all, which the runtime aligns to 256
}

// last is the last number of a span.
func (p *span) last() int64 { return p.first + (p.size - 1) }

// left is how many numbers of a span are unused.
func (p *span) left() int64 { return p.size - p.spent() }

// spent is how many numbers of a span are used.
func (p *span) spent() int64 { return min(p.used.Load(), p.size) }
