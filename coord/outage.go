package coord

import "time"

// Outage is what a coordinator knows of the window that lies behind the shorter one it has
// granted, see [Outlasting].
type Outage struct {
	// NotAfter is the last tick that the holder can be granted while the back end is away.
	NotAfter int64
	// Renewed is when the back end has extended that window last, perhaps for a process that had
	// the grant before; zero: it is not known.
	Renewed time.Time
	// Failing is why the back end does not extend it at the moment; nil: it does.
	Failing error
}

// Outlasting is implemented by coordinators that grant short windows out of a longer one, as
// package local does.
type Outlasting interface {
	// Outage returns what lies behind the window of g; ok is false if nothing does. It does
	// not block for a back end or a disk.
	Outage(g Grant) (o Outage, ok bool)
}
