package server

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/segment"
)

const (
	// sampleEvery is between two samples, of which the page shows those of a minute.
	sampleEvery = time.Second
	keptSamples = 61
	// rateSpan is over how long a rate is measured.
	rateSpan = 5 * time.Second
)

// facts are what the page says, before it is put into words.
type facts struct {
	now        time.Time
	up         time.Duration
	wasReady   bool // at some time since the start
	stopping   bool
	generators []generatorFacts
	segments   bool             // there is a store of tags
	store      error            // why it gives no numbers; nil if it does
	tags       []segment.Health // in the order of their names
	inFlight   int64
	past       history
}

// generatorFacts are those of one generator.
type generatorFacts struct {
	name, namespace string
	layout          core.Layout
	health          core.Health
	workers         *workerList // nil: not known
}

// ceiling is how many IDs a second the layout has for the generator's worker IDs.
func (g *generatorFacts) ceiling() float64 {
	return float64(g.layout.SequencesPerTick()) / g.layout.Unit.Seconds() * float64(
		len(g.health.Workers))
}

// workerList is who holds which worker ID of a namespace, at a time.
type workerList struct {
	slots []coord.Slot
	free  int
	of    int // how many there are in all
	at    time.Time
}

// WorkerIDs shows on the page who holds which worker ID of a generator's namespace, and how many of
// all are free. An unknown name is ignored. 'unalike serve' calls it once a minute.
func (s *Server) WorkerIDs(name string, slots []coord.Slot, free, of int) {
	if sp := s.spaces[name]; sp != nil {
		slots = slices.Clone(slots)
		slices.SortStableFunc(slots, func(a, b coord.Slot) int { return cmp.Compare(rank(a), rank(b)) })
		sp.workers.Store(&workerList{slots, free, of, time.Now()}) //nolint:forbidigo // the page has the machine's time
	}
}

// rank puts worker IDs that are held first.
func rank(s coord.Slot) int {
	if s.State == coord.SlotHeld {
		return 0
	}
	return 1
}

// facts looks at everything.
func (s *Server) facts() facts {
	now := time.Now() //nolint:forbidigo // the page has the machine's time
	f := facts{
		now: now, up: now.Sub(s.began), stopping: s.draining(), segments: s.segments.Load(),
		store: s.CheckStore(), inFlight: s.InFlight(),
	}
	for _, name := range s.known {
		g := s.cfg.Generators[name]
		f.generators = append(f.generators, generatorFacts{
			name, s.cfg.Namespaces[name], g.Layout(),
			g.Health(), s.spaces[name].workers.Load(),
		})
	}
	if set, err := s.sequences(); err == nil {
		f.tags = set.Health()
	}
	f.wasReady, f.past = s.sample()
	return f
}

// Sample takes a sample of what is counted, for the rates on the page. Call it about once a second;
// without it they are measured between requests for the page.
func (s *Server) Sample() { s.sample() }

// sample takes a sample if the last one is a second old, and returns those of the last minute, and
// whether the server was ready at any time.
func (s *Server) sample() (wasReady bool, past history) {
	counts := map[string]uint64{}
	for _, name := range s.known {
		h := s.cfg.Generators[name].Health()
		counts["ids "+name], counts["rollbacks "+name], counts["errors "+name] = h.Issued, h.Rollbacks,
			errorsOf(h.Errors)
	}
	for pattern, t := range s.traffic {
		counts["requests "+pattern], counts["refused "+pattern], counts["failed "+
			pattern] = t.requests.Load(), t.refused.Load(), t.failed.Load()
	}
	s.refusals.mu.Lock()
	for reason, seen := range s.refusals.seen {
		counts["refusals "+reason] = seen.total
	}
	s.refusals.mu.Unlock()
	return s.samples.add(sample{time.Now(), counts}, s.Ready() == nil) //nolint:forbidigo // the page has the machine's time
}

// errorsOf returns how many calls of a generator failed, but for those that gave up themselves.
func errorsOf(c core.ErrorCounts) uint64 {
	return c.NotStarted + c.ClockRollback + c.SequenceExhausted + c.WindowNotOpen + c.WindowEnded +
		c.TimeExhausted
}

// sample is what was counted up to a time.
type sample struct {
	at     time.Time
	counts map[string]uint64
}

// samples are those of the last minute.
type samples struct {
	mu       sync.Mutex
	wasReady bool
	taken    history
}

// add keeps a sample if it is due, and returns whether the server was ready at any time, and the
// samples.
func (s *samples) add(one sample, ready bool) (wasReady bool, taken history) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wasReady = s.wasReady || ready
	if n := len(s.taken); n == 0 || one.at.Sub(s.taken[n-1].at) >= sampleEvery*9/10 {
		s.taken = append(s.taken[max(0, n+1-keptSamples):], one)
	}
	return s.wasReady, s.taken
}

// history is samples, the oldest first.
type history []sample

// since returns by how much a count has grown in a time, or since the first sample, and in how many
// seconds.
func (h history) since(key string, span time.Duration) (growth, seconds float64) {
	if len(h) == 0 {
		return 0, 0
	}
	last, i := h[len(h)-1], len(h)-1
	for i > 0 && last.at.Sub(h[i].at) < span-sampleEvery/2 {
		i--
	}
	return increase(h[i], last, key), last.at.Sub(h[i].at).Seconds()
}

func increase(from, to sample, key string) float64 {
	return float64(to.counts[key] - min(from.counts[key], to.counts[key]))
}

// rate returns by how much a count grows in a second.
func (h history) rate(key string) float64 {
	growth, seconds := h.since(key, rateSpan)
	if seconds == 0 {
		return 0
	}
	return growth / seconds
}

// minute returns by how much a count has grown in a minute.
func (h history) minute(key string) float64 {
	growth, _ := h.since(key, time.Minute)
	return growth
}

// rates returns the rate of a count from each sample to the next.
func (h history) rates(key string) (all []float64) {
	for i := 1; i < len(h); i++ {
		all = append(all, increase(h[i-1], h[i], key)/h[i].at.Sub(h[i-1].at).Seconds())
	}
	return all
}

// traffic counts the requests of a route.
type traffic struct {
	requests, refused, failed atomic.Uint64
	took                      durations
}

// count counts a request. How long it took counts where IDs are issued: a stream takes hours.
func (t *traffic) count(issues bool, status int, took time.Duration) {
	t.requests.Add(1)
	switch {
	case status >= 500:
		t.failed.Add(1)
	case status >= 400:
		t.refused.Add(1)
	}
	if issues {
		t.took.add(took)
	}
}

// durations are how long the last requests took: some thousand of them, each in one of buckets
// whose bounds are at most a quarter apart.
type durations struct {
	buckets [128]atomic.Uint32
	all     atomic.Uint32
}

// keptDurations is how many durations there are until half of them are forgotten.
const keptDurations = 10_000

func (d *durations) add(took time.Duration) {
	d.buckets[bucketOf(took)].Add(1)
	if d.all.Add(1) == keptDurations {
		for i := range d.buckets { // what is counted meanwhile may be lost
			d.buckets[i].Store(d.buckets[i].Load() / 2)
		}
		d.all.Store(keptDurations / 2)
	}
}

// slow returns what 99 % of the requests did not exceed; 0: there were none.
func (d *durations) slow() time.Duration {
	var counts [len(d.buckets)]float64
	all := 0.0
	for i := range d.buckets {
		counts[i] = float64(d.buckets[i].Load())
		all += counts[i]
	}
	below := 0.0
	for i, n := range counts {
		if below += n; n > 0 && below >= math.Ceil(0.99*all) {
			return boundOf(i)
		}
	}
	return 0
}

// bucketOf returns the bucket of a duration: each power of 2 microseconds has four.
func bucketOf(d time.Duration) int {
	us := uint64(max(d.Microseconds(), 0))
	if us < 8 {
		return int(us)
	}
	shift := bits.Len64(us) - 3
	return min(4*shift+int(us>>shift), len(durations{}.buckets)-1)
}

// boundOf returns where a bucket ends.
func boundOf(bucket int) time.Duration {
	if bucket < 8 {
		return time.Duration(bucket+1) * time.Microsecond
	}
	shift := bucket/4 - 1
	return time.Duration(bucket%4+5) << shift * time.Microsecond
}
