package core_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/unalike-id/unalike/core"
)

func ExampleLayout() {
	// Ten milliseconds a tick, 256 workers, 32768 IDs per worker and tick.
	l := core.Layout{
		Epoch:        time.Date(2025, time.January, 1, 0, 0, 0, 0, time.UTC),
		Unit:         10 * time.Millisecond,
		TimeBits:     40,
		WorkerBits:   8,
		SequenceBits: 15,
	}
	fmt.Println(l.Validate())
	fmt.Println(l)
	fmt.Println(l.Workers(), l.SequencesPerTick(), l.Expires().Year())
	// Output:
	// <nil>
	// 40/8/15/10ms/2025-01-01T00:00:00Z
	// 256 32768 2373
}

func ExampleParseLayout() {
	l, err := core.ParseLayout("twitter")
	fmt.Println(l, err)

	_, err = core.ParseLayout("41/10/13/1ms/2024-01-01T00:00:00Z")
	fmt.Println(strings.ReplaceAll(err.Error(), "; ", ";\n"))
	// Output:
	// 41/10/12/1ms/2010-11-04T01:42:54.657Z <nil>
	// core: invalid layout: TimeBits 41, WorkerBits 10 and SequenceBits 13 are 64 bits together;
	// at most 63 are allowed, because the sign bit stays 0
}

func ExampleLayout_Decompose() {
	parts := core.TwitterLayout().Decompose(1541815603606036480)
	fmt.Println(parts.Time, parts.WorkerID, parts.Sequence)
	// Output: 2022-06-28 16:07:40.105 +0000 UTC 378 0
}

// All IDs of a day lie between two that Compose makes.
func ExampleLayout_Compose() {
	l := core.DefaultLayout()
	day := time.Date(2026, time.March, 1, 0, 0, 0, 0, time.UTC)
	first, err := l.Compose(day, 0, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	next, err := l.Compose(day.AddDate(0, 0, 1), 0, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("WHERE id >= %d AND id < %d\n", first, next)
	// Output: WHERE id >= 286286413824000000 AND id < 286648801689600000
}
