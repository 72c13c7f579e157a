package rotation

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/leaktest"
	"github.com/unalike-id/unalike/internal/testserver/certtest"
	"github.com/unalike-id/unalike/internal/testserver/fulltest"
	"github.com/unalike-id/unalike/internal/testserver/proctest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
	"github.com/unalike-id/unalike/segment"
)

// hosts are the names that programs find.
var hosts = &names{addresses: map[string]net.IP{}}

func TestMain(m *testing.M) {
	goredis.SetLogger(quiet{log.New(io.Discard, "", 0)})
	end, err := hosts.resolve()
	if err != nil {
		log.Fatal(err)
	}
	code := m.Run()
	end()
	leaktest.Main(done(code))
}

// done is tests that have run.
type done int

func (d done) Run() int { return int(d) }

// quiet takes what the client library would print on standard error.
type quiet struct{ *log.Logger }

func (quiet) Printf(context.Context, string, ...any) {}

// calls are those of all that programs do with a server.
type calls []func(context.Context) error

// succeed waits until each call succeeds.
func (c calls) succeed(t *testing.T, when string) {
	t.Helper()
	c.each(t, "a call succeeds "+when, func(err error) bool { return err == nil })
}

// fail waits until each call fails with an error that has a text.
func (c calls) fail(t *testing.T, when, says string) {
	t.Helper()
	c.each(t, "a call fails "+when, func(err error) bool {
		return err != nil && strings.Contains(err.Error(), says)
	})
}

// each makes each call until its result is as wanted, and logs that result. Those of etcd take all
// of their time if there is no connection, so they have more and more of it.
func (c calls) each(t *testing.T, what string, wanted func(error) bool) {
	t.Helper()
	for _, call := range c {
		var err error
		defer func() { t.Logf("%s: %v", what, err) }()
		limit := 500 * time.Millisecond
		streamtest.Eventually(t, what, func() bool {
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			limit *= 2
			err = call(ctx)
			return wanted(err)
		})
	}
}

// TestTLS_FilesAreReplaced: all files are replaced with those of another authority, and the server
// has the new ones. What cannot be used, as in the middle of a rotation, is in the error and ends
// nothing.
func TestTLS_FilesAreReplaced(t *testing.T) {
	t.Parallel()
	for _, b := range backEnds {
		if b.tls == nil {
			continue
		}
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			files := certtest.NewSet(t)
			uses, reload := b.tls(t, files)
			var all calls
			for _, u := range uses {
				all = append(all, u.open(t, optionsOf(files)))
			}
			files.Replace(t)
			reload()
			all.succeed(t, "with the files of another authority")

			certtest.Copy(t, certtest.New(t).Issue(t).Cert, files.Client.Cert)
			all.succeed(t, "on its old connection")
			reload()
			unusable := func(file string) {
				t.Helper()
				all.each(t, "a call fails for "+filepath.Base(file), func(err error) bool {
					if coord.Permanent(err) || errors.Is(err, segment.ErrInvalidConfig) {
						t.Errorf("%v; want an error that may pass", err)
					}
					return err != nil && strings.Contains(err.Error(), file)
				})
			}
			unusable(files.Client.Cert)
			files.Replace(t)
			proctest.Write(t, files.CA, "")
			unusable(files.CA)
			files.Replace(t)
			reload()
			all.succeed(t, "with the whole pair")
		})
	}
}

// optionsOf are the options of a URL that name the files of a client.
func optionsOf(files *certtest.Set) string {
	return "ca=" + filepath.ToSlash(files.CA) + "&cert=" + filepath.ToSlash(files.Client.Cert) +
		"&key=" + filepath.ToSlash(files.Client.Key)
}

// TestTLS_GeneratorGoesOn: a running generator keeps its lease when all files are replaced with
// those of another authority.
func TestTLS_GeneratorGoesOn(t *testing.T) {
	fulltest.Long(t, "a lease is renewed every 5 s by default")
	t.Parallel()
	for _, b := range backEnds {
		if b.tls == nil {
			continue
		}
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			files := certtest.NewSet(t)
			uses, reload := b.tls(t, files)
			c, err := drivertest.Open(t, uses[0].url+optionsOf(files))
			if err == nil {
				err = c.(coord.AdminCoordinator).Init(drivertest.Within(t), drivertest.Space())
			}
			if err != nil {
				t.Fatal(err)
			}
			g, err := core.New(drivertest.Within(t), c, core.Config{})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = g.Close(t.Context()) }()
			drivertest.GoesOn(t, g, func() {
				files.Replace(t)
				reload()
			})
		})
	}
}

// TestLogin_FilesAreReplaced: a password is replaced, or a user together with its password. The
// server wants the new ones before the files have them.
func TestLogin_FilesAreReplaced(t *testing.T) {
	t.Parallel()
	for _, b := range backEnds {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			options, password, write := b.files(t)
			uses, change := b.login(t)
			write("ann", "first")
			change("ann", "first")
			var all calls
			for _, u := range uses {
				all = append(all, u.open(t, options))
			}
			for _, next := range []struct{ user, password string }{
				{"ann", "second: p@ss'word"}, {"bob", "third"},
			} {
				change(next.user, next.password)
				all.fail(t, "with the old login", "")
				write(next.user, next.password)
				all.succeed(t, "as "+next.user+" with a new password")
			}
			proctest.Write(t, password, "\n")
			all.succeed(t, "on its old connection")
			change("ann", "fourth")
			all.fail(t, "with half of a login", password)
			write("ann", "fourth")
			all.succeed(t, "with the whole login")
		})
	}
}
