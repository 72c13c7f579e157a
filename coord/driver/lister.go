package driver

import (
	"context"

	"github.com/unalike-id/unalike/coord"
)

// Lister is the part of [coord.Admin] that coordinators have whose namespaces nobody can change,
// as those with a static worker ID.
type Lister interface {
	// List is that of [coord.Admin].
	List(ctx context.Context) ([]coord.Slot, error)
}
