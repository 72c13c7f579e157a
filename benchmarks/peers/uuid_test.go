package peers

import (
	"testing"

	"github.com/google/uuid"

	"github.com/unalike-id/unalike/core"
)

// UUIDs of github.com/google/uuid: version 4 is 122 random bits, version 7 begins with
// 48 bits of millisecond.
var (
	uuidV4 = peer{name: "uuid4", make: func(tb testing.TB, _ core.Layout) generator {
		return uuids(tb, uuid.NewRandom)
	}}
	uuidV7 = peer{name: "uuid7", make: func(tb testing.TB, _ core.Layout) generator {
		return uuids(tb, uuid.NewV7)
	}}
)

func uuids(tb testing.TB, f func() (uuid.UUID, error)) generator {
	next := must[uuid.UUID](tb)
	return generator{
		spend: func(n int) {
			for range n {
				if _, err := f(); err != nil {
					tb.Error(err)
				}
			}
		},
		text: func() string { return next(f()).String() },
	}
}
