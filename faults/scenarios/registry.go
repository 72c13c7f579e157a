// Package scenarios has what the fault suite does to generators and coordinators.
package scenarios

import (
	"cmp"
	"slices"

	"github.com/unalike-id/unalike/faults/stage"
)

// All returns all scenarios in the order of their numbers.
func All() []stage.Scenario {
	all := slices.Concat(
		baseline,
		endings,
		frozen,
		clocks,
		limits,
		outages,
		partitions,
		replies,
		late,
		delayed,
		sessions,
		failovers,
		space,
		badClocks,
		rollbacks,
		oldCopies,
		deleted,
		tables,
		objects,
		replicas,
		splitBrains,
		powerFailures,
		operators,
		crowds,
		clones,
		connections,
		planted,
		contested,
		fullSpeed,
		segments,
		service,
		restarts,
		copies,
		offline,
		disks,
	)
	slices.SortStableFunc(all, func(a, b stage.Scenario) int { return cmp.Compare(a.Number, b.Number) })
	return all
}
