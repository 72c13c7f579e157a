package backend

import (
	"archive/zip"
	"io/fs"
	"os/exec"
	"regexp"
	"runtime/debug"
	"strings"

	"github.com/unalike-id/unalike/internal/testserver/kubetest"
	"github.com/unalike-id/unalike/internal/testserver/mysqltest"
	"github.com/unalike-id/unalike/internal/testserver/pgtest"
)

// zookeeperJar is where Debian has ZooKeeper.
const zookeeperJar = "/usr/share/java/zookeeper.jar"

// Version says which server a back end runs and its version, as far as that is easy to find out; empty: it has none,
// or nobody knows.
func Version(name string) string {
	switch name {
	case "etcd", "etcd3", "embedded":
		return linked("etcd", "go.etcd.io/etcd/server/v3")
	case "redis", "sentinel", "cluster":
		return printed("Redis", `v=(\S+)`, "redis-server", "--version")
	case "zk", "zk3":
		return packed("ZooKeeper", zookeeperJar, "META-INF/maven/org.apache.zookeeper/zookeeper/pom.properties")
	case "postgres", "postgres-standby":
		return printed("PostgreSQL", `\) (\S+)`, pgtest.Program("postgres"), "--version")
	case "kubernetes":
		return "Kubernetes " + strings.TrimPrefix(kubetest.Version, "v")
	case "mariadb", "mariadb-replica":
		return printed("MariaDB", `Ver ([0-9.]+)`, mysqltest.Program("mariadbd"), "--version")
	}
	return ""
}

// linked returns the version of a module that this program is made of.
func linked(title, module string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, m := range info.Deps {
		if m.Path == module {
			return title + " " + strings.TrimPrefix(m.Version, "v")
		}
	}
	return ""
}

// printed returns what a command says of its version.
func printed(title, pattern string, command ...string) string {
	out, err := exec.Command(command[0], command[1:]...).Output() //nolint:gosec // the caller's constant, or where such a program is
	if err != nil {
		return ""
	}
	return found(title, pattern, out)
}

// packed returns what a file in a jar says of the version of what the jar is.
func packed(title, jar, file string) string {
	z, err := zip.OpenReader(jar)
	if err != nil {
		return ""
	}
	defer z.Close() // it is only read
	text, err := fs.ReadFile(z, file)
	if err != nil {
		return ""
	}
	return found(title, `(?m)^version=(\S+)`, text)
}

// found returns the version that a pattern with one group finds in a text.
func found(title, pattern string, text []byte) string {
	if m := regexp.MustCompile(pattern).FindSubmatch(text); m != nil {
		return title + " " + string(m[1])
	}
	return ""
}
