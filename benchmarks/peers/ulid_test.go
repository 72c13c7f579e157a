package peers

import (
	"testing"

	"github.com/oklog/ulid/v2"

	"github.com/unalike-id/unalike/core"
)

// ulidPeer is github.com/oklog/ulid/v2: 48 bits of millisecond and 80 random ones, with
// the source of random numbers that is safe for concurrent use.
var ulidPeer = peer{name: "ulid", make: func(testing.TB, core.Layout) generator {
	return generator{
		spend: func(n int) {
			for range n {
				ulid.Make()
			}
		},
		text: func() string { return ulid.Make().String() },
	}
}}
