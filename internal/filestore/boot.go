package filestore

import (
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/filesys"
	"github.com/unalike-id/unalike/internal/statefile"
)

// timed are leases that end by the time since the machine was started: steps of the clock end none,
// and another start of the machine ends all. They are of no use on another machine.
type timed struct {
	here statefile.Home
	now  func() time.Duration
}

// TimedLeases returns leases that end by the time since this machine was started, for processes of
// one machine. The error wraps [coord.ErrInvalid] where the system does not tell that time.
func TimedLeases() (Leases, error) {
	t := timed{statefile.Here(), func() time.Duration {
		d, _ := filesys.BootTime()
		return d
	}}
	if _, err := filesys.BootTime(); err != nil || t.here.Boot == "" {
		return nil, fmt.Errorf("%w: this system does not tell since when it runs, and one run from another (%w), so that leases cannot be kept in a file; use static:// or a server", coord.ErrInvalid, errors.Join(err, errors.ErrUnsupported))
	}
	return t, nil
}

// errElsewhere is the error of a file that another machine has written.
var errElsewhere = errors.New("another machine has written it, or this one before it was started and has no machine ID that would tell")

// Refresh implements [Leases].
func (t timed) Refresh(_ string, d *State, visitor bool) error {
	other := d.Home.Boot != t.here.Boot && d.Number > 0
	if other && !visitor && (t.here.Machine == "" || d.Home.Machine != t.here.Machine) {
		return errElsewhere
	}
	now := t.micro()
	maps.DeleteFunc(d.Marks, func(_ int, m mark) bool { return m.Token != "" && (other || m.Ends <= now) })
	d.Home.Boot = t.here.Boot
	if t.here.Machine != "" || other {
		d.Home.Machine = t.here.Machine
	}
	return nil
}

func (t timed) micro() int64 { return t.now().Microseconds() }

// Ends implements [Leases].
func (t timed) Ends(ttl time.Duration) int64 { return t.micro() + ttl.Microseconds() }

// Left implements [Leases].
func (t timed) Left(ends int64) time.Duration {
	return max(time.Duration(ends-t.micro())*time.Microsecond, 0)
}

// Take implements [Leases].
func (timed) Take(string, int, string) (undo func(), err error) { return func() {}, nil }

// Free implements [Leases].
func (timed) Free(int, string) {}

// End implements [Leases]. Somebody may use what was granted: the lease ends by itself.
func (timed) End(string) {}

// Holds implements [Leases].
func (timed) Holds(int, string) bool { return true }
