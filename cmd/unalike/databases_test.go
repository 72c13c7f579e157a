package main

import (
	"crypto/rand"
	"os"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/testserver/kubetest"
	"github.com/unalike-id/unalike/internal/testserver/mysqltest"
	"github.com/unalike-id/unalike/internal/testserver/pgtest"
	"github.com/unalike-id/unalike/internal/testserver/redistest"
)

// postgresURL starts a PostgreSQL that ends with the test, and returns the URL without a
// namespace, which is last.
func postgresURL(t *testing.T) string {
	t.Helper()
	return pgtest.Start(t).URL() + "?accept=fsync&namespace="
}

// mysqlURL likewise starts a MariaDB.
func mysqlURL(t *testing.T) string {
	t.Helper()
	return "mysql://" + mysqltest.User + ":" + mysqltest.Password + "@" + mysqltest.Start(t).Addr() + "/" + mysqltest.Database + "?namespace="
}

// kubernetesURL likewise starts an API server of Kubernetes.
func kubernetesURL(t *testing.T) string {
	t.Helper()
	s := kubetest.Start(t)
	return "kubernetes+http://" + s.Proxy(t) + "?in=" + s.Namespace(t) + "&namespace="
}

// hidden is a URL as it is printed: without the password, or where there is none, without the user.
func hidden(url string) string {
	return strings.NewReplacer(":"+mysqltest.Password+"@", ":xxxxx@", "://postgres@", "://xxxxx@").Replace(url)
}

// TestDatabases: what operators do, on databases and on Kubernetes.
func TestDatabases(t *testing.T) {
	for name, start := range map[string]func(*testing.T) string{"postgres": postgresURL, "mysql": mysqlURL, "kubernetes": kubernetesURL} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := start(t) + rand.Text()
			named := hidden(url)
			wantCall(t, call(t, nil, "", "workers", "--coordinator", url), exitOK, "there is no such namespace, or it is new", "")
			wantCall(t, call(t, nil, "", "init", "--coordinator", url), exitOK, named+" is new, with layout 41/10/12/1ms/2024-01-01T00:00:00Z\n", "")
			g := generator(t, url, core.Config{Lease: coord.LeaseConfig{TTL: callTime, Horizon: callTime}})
			ids(t, g, 100)
			wantCall(t, call(t, nil, "", "workers", "--coordinator", url), exitOK, "held   "+holderHere(t), "")
			if all := listed(t, "--coordinator", url); len(all) != 1 || all[0].State != "held" {
				t.Errorf("%+v", all)
			}
			wantCall(t, call(t, nil, "", "retire", "3", "--yes", "--coordinator", url), exitOK, "worker ID 3 of "+named+" is retired\n", "")
			closeGenerator(t, g)
			wantCall(t, call(t, nil, "", "quarantine", "--for", "5m", "--yes", "--coordinator", url), exitOK, "the floor of "+named+" is ", "No worker ID is held.\n")
		})
	}
}

// TestDatabasePassword: a user and a password in variables stay off the command line, and what
// the server refuses is a failure that has no password in it.
func TestDatabasePassword(t *testing.T) {
	pg, my := pgtest.Start(t), mysqltest.Start(t)
	redis := redistest.Start(t, redistest.Options{Password: "s3cret/?@1"})
	for name, file := range map[string]string{
		"redis":    "redis://:${PASSWORD}@" + redis.Addr + "/0?namespace=n",
		"postgres": "postgres://${WHO}:${PASSWORD}@127.0.0.1:" + pg.Port + "/postgres?accept=fsync&namespace=n",
		"mysql":    "mysql://${WHO}:${PASSWORD}@" + my.Addr() + "/" + mysqltest.Database + "?namespace=n",
	} {
		config := settingsFile(t, "coordinator: "+file+"\n")
		env := map[string]string{"WHO": "postgres", "PASSWORD": "s3cret/?@1"}
		if name == "mysql" {
			env = map[string]string{"WHO": mysqltest.User, "PASSWORD": mysqltest.Password}
		}
		wantCall(t, call(t, env, "", "init", "--config", config), exitOK, "is new", "")
		wantCall(t, call(t, env, "", "generate", "--config", config), exitOK, "\n", "")
		env, who := map[string]string{"WHO": "nobody", "PASSWORD": "s3cret2"}, "nobody"
		if name == "redis" {
			who = "refuses the user name or the password"
		}
		url := os.Expand(file, func(name string) string { return env[name] })
		for _, command := range []string{"generate", "workers"} {
			for _, got := range []result{
				call(t, env, "", command, "--config", config),
				call(t, nil, "", command, "--coordinator", url),
				call(t, map[string]string{envCoordinator: url}, "", command),
			} {
				wantCall(t, got, exitFailure, "", who)
				if strings.Contains(got.stderr, "s3cret") || strings.Contains(got.stderr, "--help") {
					t.Errorf("%s, %s: %s", name, command, got.stderr)
				}
			}
		}
	}
}
