package main

// The drivers that the URL of a coordinator, or of a store of segments, can name.
import (
	"context"

	goredis "github.com/redis/go-redis/v9"
	"go.etcd.io/etcd/server/v3/storage/wal"

	_ "github.com/unalike-id/unalike/coord/etcd"
	_ "github.com/unalike-id/unalike/coord/etcd/embedded"
	_ "github.com/unalike-id/unalike/coord/file"
	_ "github.com/unalike-id/unalike/coord/kubernetes"
	_ "github.com/unalike-id/unalike/coord/mysql"
	_ "github.com/unalike-id/unalike/coord/postgres"
	_ "github.com/unalike-id/unalike/coord/redis"
	_ "github.com/unalike-id/unalike/coord/static"
	_ "github.com/unalike-id/unalike/coord/zk"
	_ "github.com/unalike-id/unalike/segment/etcd"
	_ "github.com/unalike-id/unalike/segment/etcd/embedded"
	_ "github.com/unalike-id/unalike/segment/file"
	_ "github.com/unalike-id/unalike/segment/mysql"
	_ "github.com/unalike-id/unalike/segment/postgres"
)

// etcd sets aside 64 MB twice for its log, in each folder. The size is the process's
// and not a server's, so a library must leave it alone; this program has no other use
// for it.
func init() { wal.SegmentSizeBytes = 4 << 20 }

// The client of Redis prints on standard error what it returns as well.
func init() { goredis.SetLogger(mute{}) }

// mute is a logger that logs nothing.
type mute struct{}

// Printf does nothing.
func (mute) Printf(context.Context, string, ...any) {}
