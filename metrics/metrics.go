package metrics

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/drivers"
	"github.com/unalike-id/unalike/segment"
)

// MaxName is how many bytes the name of a generator may have.
const MaxName = 128

// DefaultBuckets are the bounds of histograms, in seconds.
func DefaultBuckets() []float64 {
	return []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}
}

// ErrTwice says that a generator or a tag of that name is shown already.
var ErrTwice = errors.New("metrics: the name is in use")

// Options change what is shown. The zero Options works.
type Options struct {
	// Buckets are the bounds of the histograms of calls to the coordinator and of refills, in
	// seconds, rising. Nil: DefaultBuckets.
	Buckets []float64
}

// Info is what a generator does not know of itself, or does not tell. All fields are optional.
type Info struct {
	// Namespace is the name of the namespace, without a password.
	Namespace string
	// Coordinator is the kind of the coordinator: "etcd", for example.
	Coordinator string
}

// Generator is what can be shown: a [core.Generator].
type Generator interface {
	Health() core.Health
	Layout() core.Layout
}

// Set is what can be shown of all tags: a [segment.Set], or a config.Segments.
type Set interface{ Health() []segment.Health }

// Metrics shows generators and sequences. Its methods are safe for concurrent use. Make it
// with [New].
type Metrics struct {
	buckets []float64

	mu         sync.Mutex
	generators map[string]*generator
	sequences  map[string]*segment.Sequence
	sets       []Set
	took       *prometheus.HistogramVec // refills, by tag
	refills    map[string]uint64        // how many there were at the last scrape, by tag
	store      func() error             // nil: nothing is shown of a store
}

// generator is what is shown of one.
type generator struct {
	g     Generator // nil: OnCall was asked for, and it has not been made yet
	info  Info
	calls *prometheus.HistogramVec // by op and result
	slots map[string]int           // worker IDs by state; nil: not known
}

var _ prometheus.Collector = (*Metrics)(nil)

// New returns metrics that are registered with reg. The error
// is [coord.ErrInvalid] for wrong buckets, or that of reg, as when it has such metrics already.
func New(reg prometheus.Registerer, o Options) (*Metrics, error) {
	m := &Metrics{
		buckets: DefaultBuckets(), generators: map[string]*generator{},
		sequences: map[string]*segment.Sequence{}, refills: map[string]uint64{},
	}
	if o.Buckets != nil {
		m.buckets = slices.Clone(o.Buckets)
	}
	for i, b := range m.buckets {
		if b <= 0 || i > 0 && b <= m.buckets[i-1] {
			return nil, fmt.Errorf("%w: Buckets are %v; they must be positive and rise", coord.ErrInvalid,
				m.buckets)
		}
	}
	if reg == nil {
		return nil, fmt.Errorf("%w: the registerer is nil; pass prometheus.DefaultRegisterer or "+
			"prometheus.NewRegistry()", coord.ErrInvalid)
	}
	m.took = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "unalike_segment_refill_duration_seconds",
		Help: "How long refills took: the last one before each scrape.", Buckets: m.buckets,
	}, []string{"tag"})
	if err := reg.Register(m); err != nil {
		return nil, fmt.Errorf("metrics: registering: %w", err)
	}
	return m, nil
}

// OnCall returns a function for the OnCall of core.Config that counts the calls of the
// generator name. Call it before the generator is made, and [Metrics.Generator] afterwards. A
// name that is not allowed is reported by the latter.
func (m *Metrics) OnCall(name string) func(coord.Call) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.entry(name).observe
}

// Generator shows g from now on until it is closed. The error is [coord.ErrInvalid] for a name that
// is not 1 to 128 bytes of UTF-8, and [ErrTwice] while another generator of that name is open.
func (m *Metrics) Generator(name string, g Generator, info Info) error {
	switch {
	case name == "" || len(name) > MaxName || !utf8.ValidString(name):
		return fmt.Errorf("%w: the generator's name %.40q is not 1 to %d bytes of UTF-8",
			coord.ErrInvalid, name, MaxName)
	case drivers.IsNil(g):
		return fmt.Errorf("%w: generator %q is nil; pass what core.New has returned, and check its error",
			coord.ErrInvalid, name)
	case !utf8.ValidString(info.Namespace) || !utf8.ValidString(info.Coordinator):
		return fmt.Errorf("%w: generator %q: Namespace or Coordinator is not UTF-8", coord.ErrInvalid,
			name)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.entry(name)
	if e.g != nil {
		return fmt.Errorf("%w: generator %q is shown already; close it first, or choose another name",
			ErrTwice, name)
	}
	e.g, e.info = g, info
	return nil
}

// entry returns what is shown as name, and makes it if there is none, or only a closed one. The
// lock is held.
func (m *Metrics) entry(name string) *generator {
	if e := m.generators[name]; e != nil && (e.g == nil || !e.g.Health().Closed) {
		return e
	}
	e := &generator{calls: prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: callDurationName, Help: callDurationHelp, Buckets: m.buckets,
	}, []string{"generator", "op", "result"}).
		MustCurryWith(prometheus.Labels{"generator": name}).(*prometheus.HistogramVec)}
	m.generators[name] = e
	return e
}

// Forget shows nothing any more of the generator name, which may be one that could not be made.
func (m *Metrics) Forget(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.generators, name)
}

// WorkerIDs shows how many worker IDs of a generator's namespace are in each state. An unknown
// name is ignored. Package server calls it once a minute.
func (m *Metrics) WorkerIDs(name string, byState map[string]int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.generators[name]; e != nil {
		e.slots = maps.Clone(byState)
	}
}

// Sequence shows s until it is closed. The error is [ErrTwice] while another one of its tag is
// shown.
func (m *Metrics) Sequence(s *segment.Sequence) error {
	if s == nil {
		return fmt.Errorf("%w: the sequence is nil; pass what segment.New has returned, and "+
			"check its error", coord.ErrInvalid)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if old := m.sequences[s.Tag()]; old != nil && !isClosed(old.Health()) {
		return fmt.Errorf("%w: tag %q is shown already; close that sequence first", ErrTwice, s.Tag())
	}
	m.sequences[s.Tag()] = s
	return nil
}

// Store shows from now on whether the store of the tags gives numbers, also before it has answered,
// when there are no tags to be shown. check is [segment.Set.Check] or something like it, and must
// not wait.
func (m *Metrics) Store(check func() error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.store = check
}

// Set shows the sequences of all tags of s. A registry has one series for each tag: two sets
// with a tag of the same name cannot share one.
func (m *Metrics) Set(s Set) error {
	if drivers.IsNil(s) {
		return fmt.Errorf("%w: the set is nil; pass what segment.NewSet has returned, and "+
			"check its error", coord.ErrInvalid)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if slices.Contains(m.sets, s) {
		return fmt.Errorf("%w: the set is shown already", ErrTwice)
	}
	m.sets = append(m.sets, s)
	return nil
}

func isClosed(h segment.Health) bool { return errors.Is(h.Err, segment.ErrClosed) }
