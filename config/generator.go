package config

import (
	"context"
	"errors"

	"github.com/unalike-id/unalike/core"
)

// Generator is a [core.Generator] together with the coordinator that was opened for
// it, which Close closes. All its methods are safe for concurrent use.
type Generator struct {
	*core.Generator
	// closes the coordinator, unless others have it; further calls return the first result
	release func() error
}

// Close stops the generator, gives its worker IDs back, and closes the coordinator, in
// this order. It blocks until that is done or ctx ends; the coordinator is closed in
// any case, unless it has a state file that other generators of this process use: then the
// last of them closes it. Give it a context that has not ended, with a few seconds left. Closing
// again returns the generator's first result.
func (g *Generator) Close(ctx context.Context) error {
	return errors.Join(g.Generator.Close(ctx), g.release())
}
