package peers

import (
	"testing"
	"time"

	"github.com/unalike-id/unalike/core"
)

// generator is one generator, ready to make IDs.
type generator struct {
	// spend makes n IDs and throws them away. It is called by many goroutines at once.
	// The loop is the adapter's, so that every peer is called directly.
	spend func(n int)
	// text makes an ID that is looked at.
	text func() string
}

// peer is a kind of generator.
type peer struct {
	name string
	// make starts one for a layout. Peers without layouts ignore it.
	make func(tb testing.TB, l core.Layout) generator
	// layouts tells whether the peer can be set to any Snowflake layout.
	layouts bool
}

// peers are all of them; the first are ours.
var peers = []peer{
	unalikeSystem, unalikeCoarse, unalikeStripes, unalikeKernel,
	bwmarrin, sonyflakePeer,
	xidPeer, ulidPeer, uuidV4, uuidV7,
}

// epoch is that of all layouts here.
var epoch = time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)

// layout returns a layout with a unit of a millisecond.
func layout(timeBits, workerBits, sequenceBits uint8) core.Layout {
	return core.Layout{
		Epoch: epoch, Unit: time.Millisecond, TimeBits: timeBits,
		WorkerBits: workerBits, SequenceBits: sequenceBits,
	}
}

var (
	wide    = layout(41, 4, 18)
	regular = layout(41, 10, 12)
)

// must fails a test or benchmark whose generator returned an error: what it measures would
// not be IDs.
func must[T any](tb testing.TB) func(T, error) T {
	return func(v T, err error) T {
		if err != nil {
			tb.Error(err)
		}
		return v
	}
}
