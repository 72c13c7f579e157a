package stage

import (
	"time"

	"github.com/unalike-id/unalike/faults/history"
)

// Times of the leases in scenarios, unless a scenario says otherwise.
const (
	TTL         = 3 * time.Second
	TTLKeeper   = 4 * time.Second // with ZooKeeper, whose sessions last at least so long
	Horizon     = 9 * time.Second
	SkewBound   = 500 * time.Millisecond
	RenewalTime = time.Second // about; a third of the TTL
)

// Scenario is one row of the suite: a fault and what must happen then. In each of them no ID may be issued
// twice.
type Scenario struct {
	Number   int    // in the list of all scenarios
	Name     string // short, in lower case, with hyphens
	About    string // one line: what is done, and what is expected
	Backends []string
	// MinIDs is how many IDs must have been issued: a run that has issued none proves nothing.
	MinIDs uint64
	// Recovery is how long [Stage.Recovered] may wait for the next ID; 0: nothing has to recover.
	Recovery time.Duration
	// Budget is how long a run may take, from the start of its servers to the end of Run.
	Budget time.Duration
	// Short is the size of a run in the short set; nil: it is not part of that.
	Short *Short
	// ExpectDuplicates is set if the scenario shows what cannot be promised, or plants a mistake. A run
	// without a duplicate fails then.
	ExpectDuplicates bool
	// Rules say what else the coordinator may do, because the scenario does it to its state.
	Rules []history.Rule
	// Run is the scenario. It may fail the stage as a test does, with Error and Fatal.
	Run func(*Stage)
}

// Short is what differs in a short run.
type Short struct {
	MinIDs   uint64
	Budget   time.Duration
	Backends []string // some of the scenario's; nil: all of them
}

// backends returns the back ends of the scenario in the full set, or in the short one.
func (sc Scenario) backends(short bool) []string {
	switch {
	case !short:
		return sc.Backends
	case sc.Short == nil:
		return nil
	case sc.Short.Backends == nil:
		return sc.Backends
	}
	return sc.Short.Backends
}

// sized returns the scenario as it is run.
func (sc Scenario) sized(short bool) Scenario {
	if short && sc.Short != nil {
		sc.MinIDs, sc.Budget = sc.Short.MinIDs, sc.Short.Budget
	}
	return sc
}
