package zk

import (
	"bytes"
	"fmt"
	"sync"

	"github.com/unalike-id/unalike/internal/protocol"
)

// memory is what a coordinator has seen of its ensemble. The numbers of transactions
// only rise; where that is not so, writes were lost, and windows with them.
//
// Each loss that was dealt with begins an era: what was seen before it tells nothing of
// what comes after.
type memory struct {
	mu      sync.Mutex
	era     int64
	highest int64     // the number of a transaction
	top     testimony // of it
	ticket  int64     // the highest number of one that was drawn; negative: none was
	drawn   testimony // of it
	lost    string    // what shows that writes were lost; empty: nothing does
	against []testimony
	meta    *stored[protocol.Meta]
	read    testimony     // of meta
	raising chan struct{} // held while the floor is raised, so that it is raised once
}

func newMemory() *memory { return &memory{ticket: -1, raising: make(chan struct{}, 1)} }

// testimony says of a thing that was seen when it was, and after which loss.
type testimony struct {
	seen int64  // microseconds since 1970
	loss string // the nonce of the last loss that was known then
}

// sight is what had been seen at one moment. What is asked for after that moment can
// only be newer.
type sight struct {
	era     int64
	highest int64
	top     testimony
	ticket  int64
	drawn   testimony
	meta    *stored[protocol.Meta]
	read    testimony
}

// sight returns what has been seen so far.
func (m *memory) sight() sight {
	m.mu.Lock()
	defer m.mu.Unlock()
	return sight{m.era, m.highest, m.top, m.ticket, m.drawn, m.meta, m.read}
}

// sound tells whether what was seen since a sight can be relied on: nothing was lost
// since.
func (m *memory) sound(era int64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.era == era && m.lost == ""
}

// testify returns the testimony of what is seen now. The lock is held.
func (m *memory) testify(now int64) testimony {
	t := testimony{seen: now}
	if m.meta != nil {
		t.loss = m.meta.rec.Loss.Nonce
	}
	return t
}

// rise takes note of a number that was seen now. After a loss nothing is noted: what
// was seen before it is what counts. The lock is held.
func (m *memory) rise(zxid, now int64) {
	if zxid > m.highest && m.lost == "" {
		m.highest, m.top = zxid, m.testify(now)
	}
}

// lose takes note of a proof of a loss. The lock is held.
func (m *memory) lose(why string, t testimony) {
	if m.lost == "" {
		m.lost = why
	}
	for _, known := range m.against {
		if known == t {
			return
		}
	}
	m.against = append(m.against, t)
}

// note takes note of a number that was seen in an era.
func (m *memory) note(era, zxid, now int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if era == m.era {
		m.rise(zxid, now)
	}
}

// learn takes note of the number of a write that was begun after a sight.
func (m *memory) learn(at sight, zxid, now int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case at.era != m.era:
	case zxid <= at.highest:
		m.lose(fmt.Sprintf("the number of the last transaction was %#x and that of a later one is %#x", at.highest, zxid), at.top)
	default:
		m.rise(zxid, now)
	}
}

// draw takes note of the number of a ticket that was drawn after a sight. Like those of
// transactions, they only rise; but those that a new leader gives to transactions rise
// after a loss, too, and those of tickets do not.
func (m *memory) draw(at sight, number, now int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case at.era != m.era:
	case number <= at.ticket:
		m.lose(fmt.Sprintf("ticket %d was drawn, and a later one is %d", at.ticket, number), at.drawn)
	case number > m.ticket && m.lost == "":
		m.ticket, m.drawn = number, m.testify(now)
	}
}

// suspect takes note of another proof of a loss, which was found in an era and speaks
// against what t is the testimony of.
func (m *memory) suspect(era int64, why string, t testimony) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if era == m.era {
		m.lose(why, t)
	}
}

// loss returns what shows that writes were lost; empty: nothing does.
func (m *memory) loss() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.lost
}

// know remembers the namespace as it was read after a sight, and notices if it is
// another one than before, or an earlier one. Replies are not handled in the order in
// which they were read, so one may be older than what is remembered by now.
func (m *memory) know(at sight, meta stored[protocol.Meta], now int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if at.era != m.era {
		return
	}
	if at.meta != nil {
		if why := earlier(*at.meta, meta); why != "" {
			m.lose(why, at.read)
		}
	}
	if m.lost != "" {
		return // what was known before the loss is compared with what is found
	}
	if m.meta == nil || m.meta.czxid == meta.czxid && m.meta.version <= meta.version {
		m.meta = &meta
		m.read = m.testify(now)
	}
}

// earlier tells what shows, if anything does, that the second reading of a namespace
// is of another history than the first: it was not made anew, its version does not
// fall, nor does the base of its floor, and no version comes again with another value.
func earlier(first, second stored[protocol.Meta]) string {
	switch a, b := first.rec, second.rec; {
	case first.czxid != second.czxid:
		return fmt.Sprintf("the namespace was made in transaction %#x, and now it is one that was made in %#x", first.czxid, second.czxid)
	case a.Nonce != b.Nonce:
		return "the namespace is another one of the same name"
	case first.version > second.version:
		return fmt.Sprintf("the version of the namespace was %d and is %d", first.version, second.version)
	case first.version == second.version && !bytes.Equal(first.raw, second.raw):
		return fmt.Sprintf("version %d of the namespace has another value than before", first.version)
	case a.Base > b.Base:
		return fmt.Sprintf("the base of the floor was tick %d and is %d", a.Base, b.Base)
	}
	return ""
}

// settled tells whether the loss on record in a namespace as it is now explains all
// that was noticed, and nothing that was known of its floor is missing.
func (c *Coordinator) settled(meta protocol.Meta) bool {
	m := c.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.meta != nil && m.meta.rec.Fingerprint == meta.Fingerprint && (m.meta.rec.Floor > meta.Floor || m.meta.rec.Base > meta.Base) {
		return false
	}
	for _, t := range m.against {
		if !meta.Settles(t.loss, t.seen, MaxHorizon, c.opts.SkewBound) {
			return false
		}
	}
	return len(m.against) > 0
}

// forgive starts again with the state that the ensemble has now; meta is nil if all of it
// is not known.
func (m *memory) forgive(zxid int64, meta *stored[protocol.Meta], now int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lost, m.against, m.meta = "", nil, meta
	m.read = m.testify(now)
	m.highest, m.top = zxid, m.read
	m.ticket = -1
	m.era++
}
