package server

import (
	"cmp"
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
	tokens     error            // why files of tokens could not be read
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

// newWorkerList returns a list that begins with the worker IDs that are held.
func newWorkerList(slots []coord.Slot, free, of int, at time.Time) *workerList {
	slots = slices.Clone(slots)
	slices.SortStableFunc(slots, func(a, b coord.Slot) int { return cmp.Compare(rank(a), rank(b)) })
	return &workerList{slots, free, of, at}
}

// rank puts worker IDs that are held first.
func rank(s coord.Slot) int {
	if s.State == coord.SlotHeld {
		return 0
	}
	return 1
}

// facts looks at everything but the tags, of which there may be very many, and takes a sample if it
// is time to.
func (s *Server) facts() *facts {
	now := time.Now() //nolint:forbidigo // the page has the machine's time
	f := &facts{
		now: now, up: now.Sub(s.began), stopping: s.draining(), segments: s.store.Load() != nil,
		store: s.checkStore(), inFlight: s.inFlight.Load(),
	}
	if s.tokens != nil {
		f.tokens = s.tokens.current.Load().err
	}
	counts := map[string]uint64{}
	for _, g := range s.all {
		h := g.Health()
		f.generators = append(f.generators, generatorFacts{
			g.name, g.namespace, g.Layout(), h, g.workers.Load(),
		})
		counts["ids "+g.name], counts["rollbacks "+g.name] = h.Issued, h.Rollbacks
		counts["errors "+g.name] = errorsOf(h.Errors)
	}
	for pattern, t := range s.traffic {
		counts["requests "+pattern] = t.requests.Load()
		counts["refused "+pattern], counts["failed "+pattern] = t.refused.Load(), t.failed.Load()
	}
	s.refusals.Range(func(reason, one any) bool {
		//nolint:forcetypeassert // nothing else is stored
		counts["refusals "+reason.(string)] = one.(*seen).total.Load()
		return true
	})
	f.wasReady, f.past = s.samples.add(sample{now, counts}, s.Ready() == nil)
	return f
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
	took                      [1000]atomic.Int64 // how long the last requests took
}

// count counts a request. How long it took counts where IDs are issued: a stream takes hours.
func (t *traffic) count(issues bool, status int, took time.Duration) {
	n := t.requests.Add(1)
	switch {
	case status >= 500:
		t.failed.Add(1)
	case status >= 400:
		t.refused.Add(1)
	}
	if issues {
		t.took[n%uint64(len(t.took))].Store(int64(took))
	}
}

// slow returns the time that 99 % of the last requests did not exceed; 0 for a route that does not
// issue IDs.
func (t *traffic) slow() time.Duration {
	var sorted [len(t.took)]int64 // 0 for requests that have not been made
	for i := range sorted {
		sorted[i] = t.took[i].Load()
	}
	slices.Sort(sorted[:])
	n := min(int(t.requests.Load()), len(sorted))
	return time.Duration(sorted[len(sorted)-1-n/100])
}
