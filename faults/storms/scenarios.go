package storms

import (
	"time"

	"github.com/unalike-id/unalike/faults/stage"
)

// Shortest is the length below which little can happen in a storm.
const Shortest = 10 * time.Second

// Lengths of the storms of the suite.
const (
	fullLength      = 2 * time.Minute
	contendedLength = time.Minute
	shortLength     = 20 * time.Second
)

// All returns the storms of the suite: on each back end a few seeds.
func All() []stage.Scenario {
	all := []stage.Scenario{
		Scenario("storm", 1, fullLength, "etcd", "etcd3", "embedded", "zk", "zk3", "static", "file", "postgres", "mariadb", "kubernetes"),
		Scenario("storm-again", 2, fullLength, "etcd", "etcd3", "embedded", "zk", "zk3", "static", "file", "postgres", "mariadb", "kubernetes"),
		Scenario("storm-redis", 3, fullLength, forgetful...),
		Scenario("storm-redis-again", 4, fullLength, forgetful...),
		Keeping("storm-state", 7, contendedLength, Keepers()...),
		Keeping("storm-state-again", 8, contendedLength, "etcd", "zk", "postgres", "mariadb"),
		Contended("storm-contended", 6, contendedLength, "etcd", "etcd3", "redis", "zk", "kubernetes"),
	}
	quick := Scenario("storm-short", 5, shortLength, "etcd", "static", "file", "kubernetes")
	quick.Short = &stage.Short{MinIDs: quick.MinIDs, Budget: quick.Budget}
	return append(all, quick)
}
