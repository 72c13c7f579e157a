package rotation

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	_ "github.com/jackc/pgx/v5/stdlib" // for the statements of tests
	goredis "github.com/redis/go-redis/v9"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	_ "github.com/unalike-id/unalike/coord/etcd"
	_ "github.com/unalike-id/unalike/coord/mysql"
	_ "github.com/unalike-id/unalike/coord/postgres"
	_ "github.com/unalike-id/unalike/coord/redis"
	_ "github.com/unalike-id/unalike/coord/zk"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/testserver/certtest"
	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
	"github.com/unalike-id/unalike/internal/testserver/mysqltest"
	"github.com/unalike-id/unalike/internal/testserver/pgtest"
	"github.com/unalike-id/unalike/internal/testserver/proctest"
	"github.com/unalike-id/unalike/internal/testserver/redistest"
	"github.com/unalike-id/unalike/internal/testserver/zktest"
	"github.com/unalike-id/unalike/segment"
	_ "github.com/unalike-id/unalike/segment/etcd"
	mysqlsegment "github.com/unalike-id/unalike/segment/mysql"
	pgsegment "github.com/unalike-id/unalike/segment/postgres"
)

// backEnd is a kind of server that programs connect to.
type backEnd struct {
	name string
	// tls starts a server with TLS that wants certificates of its clients. Reload has it read its
	// files again, and ends the connections of its clients. Nil: the driver has no TLS.
	tls func(t *testing.T, files *certtest.Set) (uses []use, reload func())
	// login starts a server. Change makes a user with a password the only one whom the server lets
	// in, and ends the connections of its clients.
	login func(t *testing.T) (uses []use, change func(user, password string))
	// prefix begins the names of the options that are about the login.
	prefix string
}

// use is what a program does with a server.
type use struct {
	url     string // which ends in ? or &
	segment bool   // the URL is that of a store of segments
}

// backEnds are all of them.
var backEnds = []backEnd{
	{name: "etcd", tls: etcdTLS, login: etcdLogin},
	{name: "Redis", tls: redisTLS, login: redisLogin},
	{name: "Redis Sentinel", tls: sentinelTLS, login: sentinelLogin},
	{name: "Sentinel itself", login: watcherLogin, prefix: "sentinel_"},
	{name: "Redis Cluster", tls: clusterTLS, login: clusterLogin},
	{name: "ZooKeeper", login: zooKeeperLogin},
	{name: "PostgreSQL", tls: postgresTLS, login: postgresLogin},
	{name: "MariaDB", tls: mariaTLS, login: mariaLogin},
}

// files returns options of a URL that name the files of a user and of a password, and what writes
// them.
func (b backEnd) files(t *testing.T) (options, password string, write func(user, password string)) {
	t.Helper()
	dir := t.TempDir()
	user, password := filepath.Join(dir, "user"), filepath.Join(dir, "password")
	options = b.prefix + "user_file=" + filepath.ToSlash(user) + "&" + b.prefix + "password_file=" +
		filepath.ToSlash(password)
	return options, password, func(name, secret string) {
		t.Helper()
		proctest.Write(t, user, name+"\n")
		proctest.Write(t, password, secret+"\n")
	}
}

// open makes what a program has for a URL with more options, and returns a call to the server,
// which ends with its context.
func (u use) open(t *testing.T, options string) (call func(context.Context) error) {
	t.Helper()
	if u.segment {
		s, err := segment.Open(drivertest.Within(t), u.url+options, segment.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return func(ctx context.Context) error {
			_, err := s.Tags(ctx)
			return err
		}
	}
	c, err := drivertest.Open(t, u.url+options)
	if err != nil {
		t.Fatal(err)
	}
	g := drivertest.MustAcquire(t, c, drivertest.Request(1))
	return func(ctx context.Context) error {
		next, err := c.Renew(ctx, g, g.NotAfter+1)
		if err == nil {
			g = next
		}
		return err
	}
}

func etcdTLS(t *testing.T, files *certtest.Set) ([]use, func()) {
	s := etcdtest.StartTLS(t, etcdtest.TLS{
		CA: files.CA, Cert: files.Server.Cert, Key: files.Server.Key,
	})
	url := "etcds://" + s.Endpoint + "/ns?"
	return []use{{url, false}, {url, true}}, func() {
		s.Kill()
		s.Restart(t)
	}
}

func etcdLogin(t *testing.T) ([]use, func(user, password string)) {
	s := etcdtest.Start(t)
	etcdtest.Protect(t, s, "/unalike/", "of root")
	root, err := clientv3.New(clientv3.Config{
		Endpoints: []string{s.Endpoint}, Username: "root", Password: "of root", Logger: zap.NewNop(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	last := "holder"
	url := "etcd://" + s.Endpoint + "/ns?"
	return []use{{url, false}, {url, true}}, func(user, password string) {
		_, err := root.UserDelete(t.Context(), last)
		if err == nil {
			_, err = root.UserAdd(t.Context(), user, password)
		}
		if err == nil {
			_, err = root.UserGrantRole(t.Context(), user, "holders")
		}
		if err != nil {
			t.Fatal(err)
		}
		last = user
	}
}

func redisFiles(files *certtest.Set) redistest.Options {
	return redistest.Options{TLS: redistest.TLS{
		CA: files.CA, Cert: files.Server.Cert, Key: files.Server.Key,
	}}
}

func redisTLS(t *testing.T, files *certtest.Set) ([]use, func()) {
	s := redistest.Start(t, redisFiles(files))
	return []use{{url: "rediss://" + s.Addr + "?namespace=ns&"}}, s.Reloader(t)
}

func sentinelTLS(t *testing.T, files *certtest.Set) ([]use, func()) {
	r := redistest.StartReplicated(t, redisFiles(files))
	primary, replica := r.Primary.Reloader(t), r.Replica.Reloader(t)
	url := "rediss-sentinel://" + r.Sentinel + "/" + redistest.MasterName + "?namespace=ns&"
	return []use{{url: url}}, func() {
		primary()
		replica()
		r.RestartSentinel(t)
	}
}

func clusterTLS(t *testing.T, files *certtest.Set) ([]use, func()) {
	node := redistest.StartCluster(t, redisFiles(files), 1).Nodes[0]
	return []use{{url: "rediss-cluster://" + node.Addr + "?namespace=ns&"}}, node.Reloader(t)
}

// acl returns a function that makes a user the only one, besides those of the test, whom a Redis
// or a Sentinel lets in.
func acl(t *testing.T, admin *goredis.Client) func(user, password string) {
	t.Helper()
	last := "nobody"
	return func(user, password string) {
		t.Helper()
		for _, command := range [][]any{
			{"ACL", "DELUSER", last},
			{"ACL", "SETUSER", user, "on", "resetpass", ">" + password, "~*", "&*", "+@all"},
			{"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"},
			{"CLIENT", "KILL", "TYPE", "pubsub"},
		} {
			if err := admin.Do(t.Context(), command...).Err(); err != nil {
				t.Fatalf("redis %v: %v", command, err)
			}
		}
		last = user
	}
}

func redisLogin(t *testing.T) ([]use, func(user, password string)) {
	s := redistest.Start(t, redistest.Options{})
	return []use{{url: "redis://" + s.Addr + "?namespace=ns&"}}, acl(t, s.Client(t))
}

func clusterLogin(t *testing.T) ([]use, func(user, password string)) {
	node := redistest.StartCluster(t, redistest.Options{}, 1).Nodes[0]
	return []use{{url: "redis-cluster://" + node.Addr + "?namespace=ns&"}}, acl(t, node.Client(t))
}

func sentinelLogin(t *testing.T) ([]use, func(user, password string)) {
	r := redistest.StartReplicated(t, redistest.Options{})
	return sentinelUses(r), acl(t, r.Primary.Client(t))
}

func sentinelUses(r *redistest.Replicated) []use {
	return []use{{url: "redis-sentinel://" + r.Sentinel + "/" + redistest.MasterName +
		"?namespace=ns&"}}
}

// watcherLogin is about the user of the Sentinels themselves.
func watcherLogin(t *testing.T) ([]use, func(user, password string)) {
	r := redistest.StartReplicated(t, redistest.Options{})
	sentinel, master := redistest.Connect(t, r.Sentinel, ""), r.Primary.Client(t)
	change := acl(t, sentinel)
	return sentinelUses(r), func(user, password string) {
		change(user, password)
		// The connection of this test stays.
		if err := sentinel.Do(t.Context(), "ACL", "SETUSER", "default", "off").Err(); err != nil {
			t.Fatal(err)
		}
		// Who connects to the master asks the Sentinel where it is.
		if err := master.Do(t.Context(), "CLIENT", "KILL", "TYPE", "normal", "SKIPME",
			"yes").Err(); err != nil {
			t.Fatal(err)
		}
	}
}

func zooKeeperLogin(t *testing.T) ([]use, func(user, password string)) {
	s := zktest.Start(t, zktest.Options{})
	conn, events, err := zk.Connect([]string{s.Addr}, time.Minute, zk.WithLogInfo(false))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		for range events {
		}
	})
	return []use{{url: "zk://" + s.Addr + "?namespace=ns&"}}, func(user, password string) {
		t.Helper()
		if err := conn.AddAuth("digest", []byte(user+":"+password)); err != nil {
			t.Fatal(err)
		}
		own(t, conn, "/unalike", zk.DigestACL(zk.PermAll, user, password))
	}
}

// own gives a node, and all below it, an ACL.
func own(t *testing.T, conn *zk.Conn, path string, acl []zk.ACL) {
	t.Helper()
	_, err := conn.SetACL(path, acl, -1)
	if errors.Is(err, zk.ErrNoNode) { // it was not made yet, or is gone
		return
	}
	children, _, err2 := conn.Children(path)
	if err != nil || err2 != nil && !errors.Is(err2, zk.ErrNoNode) {
		t.Fatalf("the ACL of %s: %v, %v", path, err, err2)
	}
	for _, child := range children {
		own(t, conn, path+"/"+child, acl)
	}
}

// execute returns a function that makes statements at a database.
func execute(t *testing.T, driver, dsn string) func(format string, args ...any) {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return func(format string, args ...any) {
		t.Helper()
		statement := fmt.Sprintf(format, args...)
		if _, err := db.ExecContext(drivertest.Within(t), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

func postgresUses(scheme, user string, s *pgtest.Server) []use {
	url := scheme + "://" + user + "127.0.0.1:" + s.Port + "/postgres?"
	return []use{{url + "namespace=ns&accept=fsync&", false}, {url, true}}
}

func postgresTLS(t *testing.T, files *certtest.Set) ([]use, func()) {
	s := pgtest.StartTLS(t, pgtest.TLS{
		CA: files.CA, Cert: files.Server.Cert, Key: files.Server.Key,
	})
	execute(t, "pgx", s.URL()+"?sslmode=disable")(pgsegment.Schema(""))
	return postgresUses("postgress", "postgres@", s), func() {
		s.Terminate(t)
		s.Restart(t)
	}
}

func postgresLogin(t *testing.T) ([]use, func(user, password string)) {
	s := pgtest.Start(t)
	do := execute(t, "pgx", s.URL())
	do(pgsegment.Schema(""))
	s.Allow(t, "host all +clients 127.0.0.1/32 scram-sha-256")
	do("CREATE ROLE clients")
	do("SELECT pg_reload_conf()")
	last := "nobody"
	return postgresUses("postgres", "", s), func(user, password string) {
		t.Helper()
		do("DO $$BEGIN IF '%s' IN (SELECT rolname FROM pg_roles) THEN "+
			"REASSIGN OWNED BY %[1]s TO postgres; DROP ROLE %[1]s; END IF; END$$", last)
		do("CREATE ROLE %s LOGIN SUPERUSER PASSWORD '%s' IN ROLE clients", user,
			strings.ReplaceAll(password, "'", "''"))
		do("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename IS DISTINCT FROM " +
			"'postgres' AND backend_type = 'client backend'")
		last = user
	}
}

func mariaUses(scheme, user string, s *mysqltest.Server) []use {
	url := scheme + "://" + user + s.Addr() + "/" + mysqltest.Database + "?"
	return []use{{url + "namespace=ns&", false}, {url, true}}
}

func mariaTLS(t *testing.T, files *certtest.Set) ([]use, func()) {
	s := mysqltest.Start(t, "--ssl-ca="+files.CA, "--ssl-cert="+files.Server.Cert,
		"--ssl-key="+files.Server.Key)
	do := execute(t, "mysql", s.DSN(""))
	do(mysqlsegment.Schema(""))
	do("CREATE USER ann IDENTIFIED BY 'secret' REQUIRE X509")
	do("GRANT ALL ON *.* TO ann")
	return mariaUses("mysqls", "ann:secret@", s), func() {
		s.Terminate(t)
		s.Restart(t)
	}
}

func mariaLogin(t *testing.T) ([]use, func(user, password string)) {
	s := mysqltest.Start(t)
	do := execute(t, "mysql", s.DSN(""))
	do(mysqlsegment.Schema(""))
	last := "nobody"
	return mariaUses("mysql", "", s), func(user, password string) {
		t.Helper()
		do("DROP USER IF EXISTS %s", last)
		do("CREATE USER %s IDENTIFIED BY '%s'", user, strings.ReplaceAll(password, "'", "''"))
		do("GRANT ALL ON *.* TO %s", user)
		do("KILL USER %s", last)
		last = user
	}
}
