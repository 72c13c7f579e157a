package main

// The drivers that a coordinator URL can name.
import (
	"context"

	goredis "github.com/redis/go-redis/v9"

	_ "github.com/unalike-id/unalike/coord/etcd"
	_ "github.com/unalike-id/unalike/coord/redis"
	_ "github.com/unalike-id/unalike/coord/static"
)

// The client of Redis prints on standard error what it returns as well.
func init() { goredis.SetLogger(mute{}) }

// mute is a logger that logs nothing.
type mute struct{}

// Printf does nothing.
func (mute) Printf(context.Context, string, ...any) {}
