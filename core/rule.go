package core

// A term's state word is tick<<sequenceBits | sequence of the last ID stamped. Bit
// 63 closes it: no layout uses that bit, so a closed word lies above every window
// and fails the ordinary comparison, while its lower bits keep the last tick.
const closedBit = 1 << 63

// earliest bounds how far before the epoch a clock is taken to be: ticks have at
// most 62 bits, so differences to it do not overflow.
const earliest = -1 << 61

// verdict is what the rule says of one attempt to stamp an ID.
type verdict uint8

const (
	issue     verdict = iota
	wait              // the sequence is spent: wait until the clock has come further
	rollback          // the clock stepped back by more than the tolerance
	notOpen           // the window lies in the future
	ended             // the window lies in the past and was not extended
	exhausted         // the layout has no ticks left
	closed            // the gate is closed
	// The rule itself never says these; they are kinds of errors.
	notStarted // there was no worker ID yet
	called     // the caller's context had ended before anything was tried
	verdicts   // how many there are
)

// rule is the transition of the state word as a pure function of ticks. It holds
// what is the same for every term of a generator, and never changes.
type rule struct {
	shift    uint8  // sequence bits
	lead     int64  // how many ticks past the clock may be stamped: L
	limit    int64  // L + R, R being the rollback tolerance in ticks
	catchUp  int64  // L + R + longestCatchUp
	lastTick uint64 // largest tick of the layout
	last     uint64 // largest sequence number
	spread   uint64 // sequences start below this one, by hash; 0: at 0
}

// startWord returns the word "tick fully used": the next ID gets a later tick.
func (r *rule) startWord(tick int64) uint64 {
	return uint64(tick+1)<<r.shift - 1 //mutant:lower-bound
}

// tick returns the tick of a word, closed or not.
func (r *rule) tick(word uint64) int64 {
	return int64(word &^ closedBit >> r.shift)
}

// sequence returns the sequence number of a word.
func (r *rule) sequence(word uint64) uint64 {
	return word & r.last
}

// first returns the first sequence number of a tick. It depends on nothing but
// the tick and the term's seed, so that whoever enters the tick and whoever counts
// its IDs agree.
func (r *rule) first(tick int64, seed uint64) uint64 {
	if r.spread == 0 {
		return 0
	}
	return mix(uint64(tick)^seed) % r.spread
}

// used returns how many IDs of its tick a word stands for. The starting word
// stands for none.
func (r *rule) used(word, start, seed uint64) uint64 {
	word &^= closedBit
	if word == start {
		return 0
	}
	return r.sequence(word) - r.first(r.tick(word), seed) + 1
}

// fast is the part of step that nearly every call ends with: it tells whether step would
// issue the next sequence number of the tick that old stands in. false says nothing but "ask
// step". It is small enough to be inlined.
//
// A closed word lies above every window, because none reaches further than the layout, and a
// clock before the epoch or past the layout's end is not within the lead of any tick in one.
func (r *rule) fast(old uint64, now, notAfter int64) bool {
	t := int64(old >> (r.shift & 63)) // the mask tells the compiler that no shift is too wide
	return uint64(t-now) <= uint64(r.lead) && t <= notAfter && old&r.last != r.last
}

// step decides on one attempt: old is the state word and start the one that the
// term began with, carried whether start is the tick of an ID that an earlier term
// stamped, now is the clock in ticks, read after old was loaded, and notAfter the
// end of the window, read after old as well. The next word is meaningful for issue,
// and for wait, where its tick is the one to wait for.
//
// This is the whole of the generator's logic, in the order of its rules: stamp
// what the clock allows; refuse before the window opens, and after a rollback beyond
// the tolerance; go on in the same tick after a smaller one; otherwise wait. Nothing
// is stamped outside the window.
func (r *rule) step(old, start, seed uint64, carried bool, now,
	notAfter int64,
) (next uint64, v verdict) {
	if old&closedBit != 0 { //mutant:closed-word
		return old, closed
	}
	if now > int64(r.lastTick) { //mutant:last-tick
		return old, exhausted
	}
	now = max(now, earliest)
	next = old + 1
	if now > 0 {
		next = max(next, uint64(now)<<r.shift)
	}
	t, oldTick := int64(next>>r.shift), r.tick(old)
	if t != oldTick {
		next = uint64(t)<<r.shift | r.first(t, seed)
	}
	switch {
	case t-now <= r.lead:
		v = issue
	case old == start && !carried:
		// The tolerance is for a clock that went back. Here nothing was stamped that it
		// could have gone back behind, and no sequence is spent.
		return next, notOpen
	case oldTick-now > r.limit: //mutant:tolerance
		return next, rollback
	case t == oldTick:
		v = issue
	default:
		v = wait
	}
	switch {
	case t <= notAfter: //mutant:upper-bound
		return next, v
	case t > int64(r.lastTick):
		return next, exhausted
	case r.tick(start) >= notAfter:
		return next, notOpen // an empty window, which a renewal will open
	}
	return next, ended
}

// run returns how many of up to n sequence numbers can be taken from word next on
// without leaving its tick.
func (r *rule) run(next uint64, n int) int {
	room := uint64(1)<<r.shift - r.sequence(next)
	return int(min(room, uint64(n)))
}

// mix is the finalizer of SplitMix64 (Steele, Lea, Flood: "Fast splittable
// pseudorandom number generators", OOPSLA 2014).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
