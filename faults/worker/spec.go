package worker

import (
	"time"

	"github.com/unalike-id/unalike/core"
)

// Spec says what a worker process does.
type Spec struct {
	// Dir is the folder for journals. It must exist, and belongs to this process alone.
	Dir string
	// ClockFile is a file of [OpenClock] that shifts the clock of all generators and
	// coordinators of the process. Empty: they use the system's clock.
	ClockFile string
	// Generators are started at once. Those with one URL use one coordinator.
	Generators []Generator
}

// Generator says how one generator of a worker is set up and how it is used.
type Generator struct {
	Name string // of its events and journals; unique in the process
	URL  string // of its coordinator
	// First and Count are the share of worker IDs. Count 0: all from First on.
	First, Count int
	Stripes      int
	TTL, Horizon time.Duration // 0: the driver's defaults
	Layout       core.Layout   `json:",omitzero"` // zero: the default layout
	Lead         time.Duration
	// State is the state file; empty: none.
	State    string
	Identity string
	// StartTime is how long a start goes on before it is told why there is no worker ID, and is
	// tried again. 0: 1 s.
	StartTime time.Duration
	// PerSecond is how many IDs are issued a second, by all goroutines together, with Next. 0: as
	// many as Fill can get.
	PerSecond  int
	Goroutines int // that issue IDs, each with a journal of its own; 0: 1
	// UntilClosed has SIGTERM close the generator while IDs are issued: its goroutines go on until
	// they are told that it is closed. Otherwise they end first.
	UntilClosed bool
	// Segment is the tag of plain numbers that are taken from the store of segments at URL. Of the
	// other settings, Name, PerSecond, Goroutines and UntilClosed count then.
	Segment string
	// MaxStep is the largest segment; 0: the library's default.
	MaxStep int64
	// Listen is the address at which the generator is served, as 'unalike serve' does it, and
	// issues nothing here.
	Listen string
	// Servers are the URLs of such servers, from which IDs are had over the network, Prefetch with
	// a request. Of the other settings, Name, Layout, PerSecond and Goroutines count then.
	Servers  []string
	Prefetch int
}
