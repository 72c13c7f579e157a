package backend

import (
	"regexp"
	"testing"

	"github.com/unalike-id/unalike/internal/testserver/mysqltest"
	"github.com/unalike-id/unalike/internal/testserver/pgtest"
	"github.com/unalike-id/unalike/internal/testserver/proctest"
)

// TestVersion: the servers that are started here say which ones they are.
func TestVersion(t *testing.T) {
	proctest.Need(t, "redis-server zookeeper postgresql mariadb-server", "redis-server", zookeeperJar, pgtest.Program("postgres"), mysqltest.Program("mariadbd"))
	for name, want := range map[string]string{
		"static": `^$`, "redis": `^Redis \d+\.\d+\.\d+$`, "cluster": `^Redis \d`, "zk3": `^ZooKeeper \d+\.\d+\.\d+$`,
		"postgres-standby": `^PostgreSQL \d+\.\d+$`, "mariadb": `^MariaDB \d+\.\d+\.\d+$`,
		"kubernetes": `^Kubernetes \d+\.\d+\.\d+$`,
		"etcd":       `^(etcd \d+\.\d+\.\d+)?$`, // the go command does not say it to tests
	} {
		if got := Version(name); !regexp.MustCompile(want).MatchString(got) {
			t.Errorf("%s is %q; want %s", name, got, want)
		}
	}
}
