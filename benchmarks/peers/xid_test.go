package peers

import (
	"testing"

	"github.com/rs/xid"

	"github.com/unalike-id/unalike/core"
)

// xidPeer is github.com/rs/xid: 96 bits of second, machine, process and an atomic
// counter. Uniqueness rests on the counter not coming round within a second and on
// hashes of machines' names that differ.
var xidPeer = peer{name: "xid", make: func(testing.TB, core.Layout) generator {
	return generator{
		spend: func(n int) {
			for range n {
				xid.New()
			}
		},
		text: func() string { return xid.New().String() },
	}
}}
