package metrics

import (
	"errors"
	"fmt"
	"sync"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/segment"
)

// maxName is how many bytes the name of a generator may have.
const maxName = 128

// buckets are the bounds of histograms, in seconds.
var buckets = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}

// Register shows a generator as name, in reg, until it is closed. It includes the calls to the
// coordinator, those of the start as well. The name is free again when the generator is closed.
// Register is safe for concurrent use.
//
// The error wraps [coord.ErrInvalid] for a name that is not 1 to 128 bytes of UTF-8 or that an open
// generator has, and for a nil generator; otherwise it is that of reg.
func Register(reg prometheus.Registerer, name string, g *core.Generator) error {
	if name == "" || len(name) > maxName || !utf8.ValidString(name) {
		return fmt.Errorf("%w: the generator's name %.40q is not 1 to %d bytes of UTF-8",
			coord.ErrInvalid, name, maxName)
	}
	if g == nil {
		return fmt.Errorf("%w: generator %q is nil; pass what core.New has returned, and check its error",
			coord.ErrInvalid, name)
	}
	m, err := collectorOf(reg)
	if err != nil {
		return err
	}
	e := &generator{g: g, calls: prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: callDurationName, Help: callDurationHelp, Buckets: buckets,
	}, []string{"generator", "op", "result"}).
		MustCurryWith(prometheus.Labels{"generator": name}).(*prometheus.HistogramVec)}
	m.mu.Lock()
	old := m.generators[name]
	if old != nil && !old.g.Health().Closed {
		m.mu.Unlock()
		return fmt.Errorf("%w: generator %q is shown already; close it first, or choose another name",
			coord.ErrInvalid, name)
	}
	m.generators[name] = e
	m.mu.Unlock()
	g.OnCall(e.observe)
	return nil
}

// RegisterSegments shows the tags of a set until they are closed: health is the method
// [segment.Set.Health], or that of a config.Segments. A registry has one series for each tag: of
// two sets with a tag of the same name, it shows the first one. Errors are those of [Register].
func RegisterSegments(reg prometheus.Registerer, health func() []segment.Health) error {
	if health == nil {
		return fmt.Errorf("%w: health is nil; pass the method Health of a set", coord.ErrInvalid)
	}
	m, err := collectorOf(reg)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sets = append(m.sets, health)
	return nil
}

// collector shows everything that is registered in one registry.
type collector struct {
	mu         sync.Mutex
	generators map[string]*generator
	workerIDs  map[string]map[string]int // by generator and state
	sets       []func() []segment.Health
	took       *prometheus.HistogramVec // refills, by tag
	refills    map[string]uint64        // how many there were at the last scrape, by tag
	store      func() error             // nil: nothing is shown of a store
}

// generator is what is shown of one.
type generator struct {
	g     *core.Generator
	calls *prometheus.HistogramVec // by op and result
}

var _ prometheus.Collector = (*collector)(nil)

// collectorOf returns the collector of a registry, and registers it the first time.
func collectorOf(reg prometheus.Registerer) (*collector, error) {
	if reg == nil {
		return nil, fmt.Errorf("%w: the registerer is nil; pass prometheus.DefaultRegisterer or "+
			"prometheus.NewRegistry()", coord.ErrInvalid)
	}
	m := &collector{
		generators: map[string]*generator{}, workerIDs: map[string]map[string]int{},
		refills: map[string]uint64{},
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "unalike_segment_refill_duration_seconds",
			Help: "How long refills took: the last one before each scrape.", Buckets: buckets,
		}, []string{"tag"}),
	}
	err := reg.Register(m)
	if already, ok := errors.AsType[prometheus.AlreadyRegisteredError](err); ok {
		if m, ok := already.ExistingCollector.(*collector); ok {
			return m, nil
		}
	}
	if err != nil {
		return nil, fmt.Errorf("metrics: registering: %w", err)
	}
	return m, nil
}
