package main

// The drivers that a coordinator URL can name.
import (
	"go.etcd.io/etcd/server/v3/storage/wal"

	_ "github.com/unalike-id/unalike/coord/etcd"
	_ "github.com/unalike-id/unalike/coord/etcd/embedded"
	_ "github.com/unalike-id/unalike/coord/static"
	_ "github.com/unalike-id/unalike/coord/zk"
)

// etcd sets aside 64 MB twice for its log, in each folder. The size is the process's
// and not a server's, so a library must leave it alone; this program has no other use
// for it.
func init() { wal.SegmentSizeBytes = 4 << 20 }
