package core

import "github.com/unalike-id/unalike/coord"

// Space returns what a coordinator's namespace needs to know of the layout, for
// [coord.AdminCoordinator] and package follow. The result is meaningful only if
// [Layout.Validate] passes.
func (l Layout) Space() coord.Space {
	return coord.Space{
		Fingerprint: l.String(), Scale: l.scale(), LastTick: l.lastTick(),
		Capacity: l.Workers(),
	}
}
