package peers

import (
	"testing"

	"github.com/bwmarrin/snowflake"

	"github.com/unalike-id/unalike/core"
)

// bwmarrin is github.com/bwmarrin/snowflake, the most used one in Go: a mutex, and a
// clock derived from the monotonic one, so that it never sees a step of the wall
// clock. Its layout is in variables of the package. It returns no errors; worker IDs
// are given to it, and nobody checks them.
var bwmarrin = peer{
	name: "bwmarrin", layouts: true,
	make: func(tb testing.TB, l core.Layout) generator {
		snowflake.Epoch, snowflake.NodeBits, snowflake.StepBits = l.Epoch.UnixMilli(), l.WorkerBits,
			l.SequenceBits
		node := must[*snowflake.Node](tb)(snowflake.NewNode(1))
		return generator{
			spend: func(n int) {
				for range n {
					node.Generate()
				}
			},
			text: func() string { return node.Generate().String() },
		}
	},
}
