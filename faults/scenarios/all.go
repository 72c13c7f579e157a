// Package scenarios has what the fault suite does to generators and coordinators: what real
// processes, clocks, disks and servers alone can show.
package scenarios

import (
	"slices"
	"time"

	"github.com/unalike-id/unalike/faults/stage"
)

// single are the back ends with one server, of each kind.
var single = []string{"etcd", "redis", "zk", "postgres", "mariadb", "kubernetes"}

// with returns back ends and some more.
func with(some []string, more ...string) []string { return slices.Concat(some, more) }

const (
	// busyTime is what each bound on a time allows beyond what is promised: processes wait for one
	// of two processors that have other work, too. It is shorter than anything that it is added to
	// must stay apart from: the horizon, the TTL, a quarantine.
	busyTime = 2 * time.Second
	// resumeTime is how long a holder whose window has ended, or that was frozen, may take to its
	// next ID once its servers serve.
	resumeTime = 2*time.Second + busyTime
	// handoverTime is how long a new process may take to its first ID when a worker ID is free: the
	// start of a process, the connection and the acquisition. The pauses of a process that waits for
	// one grow to 15 s, but a worker gives up after a second and starts its generator again, which
	// begins with the shortest pause.
	handoverTime = 2*time.Second + busyTime
	// takeOverTime is the same where the worker ID is that of a holder that is gone or cut off: the
	// rest of the lease, which is shorter, or of the window.
	takeOverTime = stage.Horizon + stage.SkewBound + busyTime
	// windowTime is how long it may take until the calls of a holder fail: its window ends.
	windowTime = stage.Horizon + stage.SkewBound + busyTime
	// silence is the longest time without an ID of generators to whom nothing may happen. Their
	// window never ends, which they would tell; so it is that of a busy machine.
	silence = busyTime
	// quietTime is how long it is watched that nothing is issued. What was issued before takes at
	// most half of it to be written down.
	quietTime = time.Second
	// issuedEach is how many IDs each holder issues before something happens to it.
	issuedEach = 1000
)
