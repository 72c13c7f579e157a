package filestore

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/unalike-id/unalike/internal/filesys"
	"github.com/unalike-id/unalike/internal/invalid"
	"github.com/unalike-id/unalike/internal/statefile"
)

// timed are leases that end by the time since the machine was started: steps of the clock end none,
// and another start of the machine ends all. They are of no use on another machine.
type timed struct {
	here statefile.Home
	now  func() int64 // microseconds since the machine was started
	// takeOver is the command that takes over a file of another machine, without its URL.
	takeOver string
}

// TimedLeases returns leases that end by the time since this machine was started, for processes of
// one machine. TakeOver is the command that takes over a file of another machine, without its URL.
// The error wraps [coord.ErrInvalid] where the system does not tell that time.
func TimedLeases(takeOver string) (Leases, error) {
	t := timed{statefile.Here(), func() int64 {
		d, _ := filesys.BootTime()
		return d.Microseconds()
	}, takeOver}
	if _, err := filesys.BootTime(); err != nil || t.here.Boot == "" {
		return nil, invalid.Errorf("this system does not tell since when it runs, and one run from "+
			"another (%w), so that leases cannot be kept in a file; use static:// or a server",
			errors.Join(err, errors.ErrUnsupported))
	}
	return t, nil
}

// Refresh implements [Leases].
func (t timed) Refresh(path string, d *State, foreign bool) error {
	if d.First >= 0 {
		return errors.New("it is one of static://, whose worker IDs are not leased for a time; name " +
			"another file")
	}
	other := d.Home.Boot != t.here.Boot && d.Number+d.Count > 0
	if other && !foreign && (t.here.Machine == "" || d.Home.Machine != t.here.Machine) {
		return fmt.Errorf("%w: another machine has written it, or this one before it was started and "+
			"has no machine ID that would tell; once no program uses it elsewhere, '%s file://%s' takes it "+
			"over", ErrOther, t.takeOver, path)
	}
	now := t.now()
	maps.DeleteFunc(d.Marks, func(_ int, m Mark) bool {
		return m.Token != "" && (other || m.Ends <= now) //mutant:file-boot
	})
	d.Home.Boot = t.here.Boot
	if t.here.Machine != "" || other {
		d.Home.Machine = t.here.Machine
	}
	return nil
}

// Now implements [Leases].
func (t timed) Now() int64 { return t.now() }

// Take implements [Leases].
func (timed) Take(context.Context, int) error { return nil }

// Free implements [Leases].
func (timed) Free(int) {}

// End implements [Leases]. Somebody may use what was granted: the lease ends by itself.
func (timed) End() {}

// Holds implements [Leases].
func (timed) Holds(int) bool { return true }
