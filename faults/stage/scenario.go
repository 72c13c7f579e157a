package stage

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Times of the leases in scenarios, unless a scenario says otherwise.
const (
	TTL         = 3 * time.Second
	TTLKeeper   = 4 * time.Second // with ZooKeeper, whose sessions last at least so long
	Horizon     = 9 * time.Second
	SkewBound   = 500 * time.Millisecond
	RenewalTime = time.Second // about; a third of the TTL
)

const (
	// usualBudget is how long a run may take whose scenario says nothing else.
	usualBudget = 4 * time.Minute
	// fewest is how many IDs each run must have issued: one that has issued none proves nothing.
	fewest = 1000
)

// Scenario is a fault and what must happen then. In each of them no ID may be issued twice.
type Scenario struct {
	Name     string   // short, in lower case, with hyphens
	About    string   // one line: what is done, and what is expected
	Backends []string // that it runs on
	Short    []string // those of them that are in the short set
	// Recovery is how long [Stage.Recovered] may wait for the next ID; 0: nothing has to recover.
	Recovery time.Duration
	// Budget is how long a run may take, from the start of its servers to the end of Run; 0: as
	// long as most.
	Budget time.Duration
	// Exclusive is set if nothing may run beside it, because it loads the machine or measures itself
	// at full speed.
	Exclusive bool
	// Run is the scenario. It may fail the stage as a test does, with Error and Fatal.
	Run func(*Stage)
}

// Job is a scenario on a back end.
type Job struct {
	Scenario Scenario
	Backend  string
}

func (j Job) String() string { return j.Scenario.Name + " on " + j.Backend }

// Select returns the jobs that names of scenarios ask for, none for all: on one back end, or on
// each that a scenario runs on if that is empty; in the short set only those that are part of it,
// unless they are named. Its errors say what there is.
func Select(all []Scenario, names []string, backend string, short bool) (jobs []Job, err error) {
	var known, backends []string
	for _, sc := range all {
		known, backends = append(known, sc.Name), append(backends, sc.Backends...)
	}
	for _, name := range names {
		i := slices.Index(known, name)
		switch {
		case i < 0:
			return nil, fmt.Errorf("no scenario has the name %q; there are %s", name,
				strings.Join(known, ", "))
		case backend != "" && !slices.Contains(all[i].Backends, backend):
			return nil, fmt.Errorf("scenario %s runs on %s, not on %q", name,
				strings.Join(all[i].Backends, ", "), backend)
		}
	}
	if slices.Sort(backends); backend != "" && !slices.Contains(backends, backend) {
		return nil, fmt.Errorf("no scenario runs on the back end %q; there are %s", backend,
			strings.Join(slices.Compact(backends), ", "))
	}
	for _, sc := range all {
		on := sc.Backends
		switch {
		case len(names) > 0 && !slices.Contains(names, sc.Name):
			on = nil
		case len(names) == 0 && short:
			on = sc.Short
		}
		for _, b := range on {
			if backend == "" || b == backend {
				jobs = append(jobs, Job{sc, b})
			}
		}
	}
	return jobs, nil
}
