package coord

import (
	"strconv"
	"time"
)

// Placer is implemented by coordinators that can say where their namespace lives.
type Placer interface {
	// Place names the namespace among all others as far as this machine's configuration tells:
	// the kind of back end, its hosts, and everything else that selects another namespace, such
	// as a database, a prefix or a path. Two coordinators with the same Place, on one machine,
	// lead to the same namespace. The text is the same at each start with the same
	// configuration, has no password in it, and is not parsed by anybody. Place does not block.
	// Empty: it is not known.
	Place() string
}

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

// JoinPlace makes the text of a [Placer] of a kind of back end and what selects a namespace in
// it. The order of the parts counts. If one is empty that must not be, leave the text out.
func JoinPlace(kind string, parts ...string) string {
	for _, p := range parts {
		kind += " " + strconv.Quote(p)
	}
	return kind
}
