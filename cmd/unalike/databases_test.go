package main

import (
	"os"
	"testing"

	"github.com/unalike-id/unalike/internal/testserver/mysqltest"
	"github.com/unalike-id/unalike/internal/testserver/pgtest"
	"github.com/unalike-id/unalike/internal/testserver/redistest"
)

// TestDatabasePassword: a user and a password in variables stay off the command line, and what
// the server refuses is a failure that has no password in it.
func TestDatabasePassword(t *testing.T) {
	pg, my := pgtest.Start(t), mysqltest.Start(t)
	redis := redistest.Start(t, redistest.Options{Password: "s3cret/?@1"})
	for _, tt := range []struct{ url, user, password, refused string }{
		{
			"redis://:${PASSWORD}@" + redis.Addr + "/0?namespace=n", "", "s3cret/?@1",
			"refuses the user name or the password",
		},
		{
			"postgres://${WHO}:${PASSWORD}@127.0.0.1:" + pg.Port + "/postgres?accept=fsync&namespace=n",
			"postgres", "s3cret/?@1", "nobody",
		},
		{
			"mysql://${WHO}:${PASSWORD}@" + my.Addr() + "/" + mysqltest.Database + "?namespace=n",
			mysqltest.User, mysqltest.Password, "nobody",
		},
	} {
		file := "--config " + settingsFile(t, "coordinator: "+tt.url+"\n")
		env := map[string]string{"WHO": tt.user, "PASSWORD": tt.password}
		checkLines(t, env, []line{{"init " + file, exitOK, "is new"}, {"generate " + file, exitOK, "\n"}})
		env = map[string]string{"WHO": "nobody", "PASSWORD": "secret"}
		checkLines(t, env, []line{{"generate " + file, exitFailure, tt.refused}})
		url := os.Expand(tt.url, func(name string) string { return env[name] })
		checkLines(t, nil, []line{{"workers --coordinator " + url, exitFailure, tt.refused}})
		env = map[string]string{envCoordinator: url}
		checkLines(t, env, []line{{"workers", exitFailure, tt.refused}})
	}
}
