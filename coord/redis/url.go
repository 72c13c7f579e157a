package redis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/driver"
	"github.com/unalike-id/unalike/internal/drivers"
	"github.com/unalike-id/unalike/internal/lifetime"
	"github.com/unalike-id/unalike/internal/tlsfiles"
	"github.com/unalike-id/unalike/internal/wrongserver"
)

// kind is a way in which servers work together.
type kind struct {
	scheme  string // with TLS, "redis" is "rediss" in it
	port    string // if the URL names none
	example string // what follows the scheme
	options []string
}

var (
	single = kind{
		"redis", "6379", "user:password@host:6379/0?namespace=orders", []string{"durable"},
	}
	sentinel = kind{
		"redis-sentinel", "26379", "host1:26379,host2:26379/master/0?namespace=orders",
		[]string{
			"sentinel_user", "sentinel_password", "sentinel_user_file", "sentinel_password_file",
		},
	}
	cluster = kind{"redis-cluster", "6379", "host1:6379,host2:6379?namespace=orders", nil}
)

// The client's library prints on standard error, for the whole process, that it cannot
// connect, a line for each attempt. It returns that as well, so these lines are left out.
func init() {
	goredis.SetLogger(logging.NewBlacklistLogger([]string{"failed to dial after", "sentinel: "}))
}

func init() {
	for _, k := range []kind{single, sentinel, cluster} {
		for _, secure := range []bool{false, true} {
			drivers.SetPort(k.name(secure), k.port)
			driver.Register(k.name(secure),
				func(_ context.Context, u *driver.URL) (coord.Coordinator, error) {
					return open(k, secure, u)
				})
		}
	}
}

// name is the scheme, with TLS or without.
func (k kind) name(secure bool) string {
	if secure {
		return strings.Replace(k.scheme, "redis", "rediss", 1)
	}
	return k.scheme
}

// open makes a coordinator, and a client of its own, from a URL. It contacts nobody.
func open(k kind, secure bool, u *driver.URL) (coord.Coordinator, error) {
	t, err := k.parse(secure, u)
	if err != nil {
		return nil, u.Invalid(err)
	}
	t.options.Clock, t.options.Logger = u.Clock, u.Logger
	s := &store{namespace: t.namespace, at: strings.Join(t.addrs, ", "), secure: secure}
	c, err := begin(s, k.place(t.addrs, t.master, t.db, t.namespace), t.options, nil)
	if err != nil {
		return nil, err
	}
	if s.clients, err = lifetime.Rotate(func() (connections, error) {
		return connections{t.client(s.life, k), t.namespace}, nil
	}); err != nil {
		return nil, err
	}
	c.Life().Guard((&wrongserver.Check{
		Product: wrongserver.Redis, Addresses: t.addrs, TLS: t.tls, Invalid: coord.ErrInvalid,
	}).Do)
	return c, nil
}

// target is what a URL says.
type target struct {
	namespace string
	options   Options
	addrs     []string
	login     func() (user, password string, err error) // of the servers
	sentinel  func() (user, password string, err error) // of the Sentinels
	master    string
	db        int
	tls       *tlsfiles.Files // nil: none
}

// place is the text of [coord.Description].
func (k kind) place(addrs []string, master string, db int, namespace string) string {
	return drivers.JoinPlace(k.scheme,
		append(slices.Sorted(slices.Values(addrs)), master, strconv.Itoa(db), namespace)...)
}

// parse reads a URL; errors without coord.ErrInvalid lack the words "redis URL".
func (k kind) parse(secure bool, u *driver.URL) (target, error) {
	var t target
	if err := u.CheckOptions(slices.Concat(k.options, drivers.LoginOptions,
		tlsfiles.Options, []string{"namespace", "skew"})...); err != nil {
		return t, err
	}
	usage := u.Scheme + "://" + k.example
	if len(u.Hosts) == 0 {
		return t, fmt.Errorf("there is no host; write %s", usage)
	}
	if len(u.Hosts) > 1 && k.scheme == single.scheme {
		return t, fmt.Errorf("there are %d hosts; one server is one host, several are a Cluster (%s://) "+
			"or Sentinels (%s://)", len(u.Hosts), cluster.name(secure), sentinel.name(secure))
	}
	var err error
	if t.addrs, err = u.Addresses(k.port); err != nil {
		return t, err
	}
	t.namespace = u.Option("namespace")
	if t.namespace == "" {
		return t, fmt.Errorf("there is no namespace; write %s", usage)
	}
	if err := driver.CheckNamespace(t.namespace); err != nil {
		return t, err
	}
	if err := t.parsePath(k, u.Path, usage); err != nil {
		return t, err
	}
	if err := t.parseUsers(u); err != nil {
		return t, err
	}
	if err := t.parseOptions(u); err != nil {
		return t, err
	}
	return t, t.parseTLS(k, secure, u)
}

// parsePath reads the database, and the name of the master before it.
func (t *target) parsePath(k kind, path, usage string) error {
	path, db := strings.TrimPrefix(path, "/"), ""
	switch k.scheme {
	case cluster.scheme:
		if path != "" {
			return fmt.Errorf("the path is %q; a Cluster has one database, and its URL no path", path)
		}
		return nil
	case sentinel.scheme:
		t.master, db, _ = strings.Cut(path, "/")
		if t.master == "" {
			return fmt.Errorf("there is no name of a master; write %s", usage)
		}
	default:
		db = path
	}
	if db == "" {
		return nil
	}
	n, err := strconv.ParseUint(db, 10, 31)
	if err != nil || strconv.FormatUint(n, 10) != db {
		return fmt.Errorf("the database is %q; it is a number from 0 on, as in %s", db, usage)
	}
	t.db = int(n)
	return nil
}

// parseUsers reads the user and the password of the servers and of the Sentinels.
func (t *target) parseUsers(u *driver.URL) (err error) {
	if t.login, err = u.Login(); err != nil {
		return err
	}
	if u.User != nil && !u.HasPassword() {
		return errors.New("there is a user without a password; write user:password@, or user@ and " +
			"option password_file, or :password@ for the user that Redis has by default")
	}
	if t.sentinel, err = u.LoginWith("sentinel_"); err != nil {
		return err
	}
	if user, password, err := t.sentinel(); err != nil || user != "" && password == "" {
		return cmp.Or(err, errors.New("option sentinel_user needs option sentinel_password or "+
			"sentinel_password_file"))
	}
	return nil
}

func (t *target) parseOptions(u *driver.URL) (err error) {
	if t.options.Lease, err = u.Lease(); err != nil {
		return err
	}
	if t.options.SkewBound, err = u.Duration("skew", "1s"); err != nil {
		return err
	}
	if v := u.Option("durable"); u.Has("durable") && v != "require" {
		return fmt.Errorf("option durable is %q; it is require, or left out", v)
	}
	t.options.Durable = u.Has("durable")
	_, err = t.options.resolve()
	return err
}

func (t *target) parseTLS(k kind, secure bool, u *driver.URL) (err error) {
	if secure {
		t.tls, err = tlsfiles.FromURL(u)
		return err
	}
	return tlsfiles.None(u, k.name(true))
}

// dialTime is how long it may take to connect: with TLS, that is three answers. A
// connection that hangs keeps its place in the client's pool for as long.
const dialTime = 10 * time.Second

// client returns a client, which asks Sentinels until life ends. It makes no retries of its own,
// and its calls end with their contexts and with nothing else: -1 is no timeout. It says nothing to
// the server that a user with few rights may not say.
func (t target) client(life context.Context, k kind) goredis.UniversalClient {
	o := &goredis.UniversalOptions{
		Addrs: t.addrs, MasterName: t.master, IsClusterMode: k.scheme == cluster.scheme, DB: t.db,
		CredentialsProviderContext: func(context.Context) (user, password string, err error) {
			return t.login()
		},
		MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true, Protocol: 2, DisableIdentity: true,
		ReadTimeout: -1, WriteTimeout: -1, DialTimeout: dialTime,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
	switch {
	case t.master != "":
		o.Dialer, o.OnConnect = (&dialer{t.tls, life, t.addrs}).dial, t.loginToSentinel
	case t.tls != nil:
		o.Dialer = (&dialer{tls: t.tls, life: life}).dial
	}
	return goredis.NewUniversalClient(o)
}
