package worker

import (
	"context"

	"github.com/unalike-id/unalike/coord"
	_ "github.com/unalike-id/unalike/coord/etcd"          // etcd://
	_ "github.com/unalike-id/unalike/coord/etcd/embedded" // embed://
	_ "github.com/unalike-id/unalike/coord/file"          // file://
	_ "github.com/unalike-id/unalike/coord/kubernetes"    // kubernetes+http://
	_ "github.com/unalike-id/unalike/coord/mysql"         // mysql://
	_ "github.com/unalike-id/unalike/coord/postgres"      // postgres://
	_ "github.com/unalike-id/unalike/coord/redis"         // redis://
	_ "github.com/unalike-id/unalike/coord/static"        // static://
	_ "github.com/unalike-id/unalike/coord/zk"            // zk://
)

// coordinator returns the coordinator of a generator, which ends with the process. All generators
// of the process with that URL have it, as those of a program.
func (g *instance) coordinator(ctx context.Context) (c coord.Coordinator, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if c = g.shared[g.URL]; c == nil {
		if c, err = coord.Open(ctx, g.URL, coord.OpenOptions{Clock: g.clock}); err == nil {
			g.shared[g.URL] = c
		}
	}
	return c, err
}
