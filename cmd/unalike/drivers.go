package main

// The drivers that a coordinator URL can name.
import (
	_ "github.com/unalike-id/unalike/coord/etcd"
	_ "github.com/unalike-id/unalike/coord/redis"
	_ "github.com/unalike-id/unalike/coord/static"
)
