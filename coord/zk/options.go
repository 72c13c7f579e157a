package zk

import (
	"cmp"
	"log/slog"
	"path"
	"strings"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/invalid"
	"github.com/unalike-id/unalike/internal/lifetime"
)

const (
	// MinTTL is the shortest TTL. What a server accepts depends on its settings: by
	// default between 2 and 20 of its ticks of 2 s.
	MinTTL = time.Second
	// MaxHorizon is the longest horizon. It is a constant, because after a loss of
	// data it is all that is known of the windows that were lost: nothing is granted
	// until the longest one that there can have been is over. A namespace may be
	// declared with a longer one, for holders that survive: see [coord.Space].
	MaxHorizon = 2 * time.Minute
	// DefaultSkewBound is how far a holder's clock may be from that of the servers.
	DefaultSkewBound = time.Second

	// maxTTL is what fits into the protocol: milliseconds in 32 bits.
	maxTTL = (1<<31 - 1) * time.Millisecond
	// defaultPort is ZooKeeper's port for clients.
	defaultPort = "2181"
)

// Options are the settings of [New] beyond servers and namespace. The zero Options
// works.
type Options struct {
	// Chroot is the node under which everything lies, an absolute path such as
	// "/apps". It must exist. Empty: the root.
	Chroot string
	// User and Password log in with ZooKeeper's digest scheme. Nodes are made so that
	// nobody else can read or change them. Both or neither; without them, anybody who
	// reaches the servers can. The user name contains no colon.
	User, Password string
	// Login, in place of User and Password, returns both as they are for a connection that
	// is made now. A connection that is refused access is made anew if they have changed. Nil: User
	// and Password.
	Login func() (user, password string, err error)
	// Lease sets the times of the lease, for all generators that use this
	// coordinator. TTL is the timeout of the session, in whole milliseconds; a server
	// that insists on another one is refused. Zero fields: TTL 15 s, Horizon 30 s,
	// RenewEvery a third of the shorter one. WorkerIDs and Identity must be zero; they
	// belong in the generator's configuration.
	Lease coord.LeaseConfig
	// SkewBound is how far a holder's clock may be from that of the servers. 0: 1 s.
	// It is less than MaxHorizon.
	SkewBound time.Duration
	// Clock tells the time that is compared with the servers'. Nil: the system's. Give
	// the same clock to the generator.
	Clock clock.Clock
	// Logger receives what an operator may want to know, and what the client library
	// has to say at level debug. Nil: warnings go to slog.Default(), as with
	// core.Config.
	Logger *slog.Logger
}

// resolve fills in defaults and checks the options.
func (opts Options) resolve() (Options, error) {
	err := lifetime.Resolve(opts.Lease, &opts.SkewBound, &opts.Clock, &opts.Logger, MaxHorizon,
		DefaultSkewBound)
	if err := cmp.Or(err, checkTTL(opts.Lease.TTL), checkChroot(opts.Chroot)); err != nil {
		return opts, err
	}
	user, password := opts.User, opts.Password
	switch {
	case (user == "") != (password == ""):
		return opts, invalid.Errorf("User is %q; a user and a password belong together: give "+
			"both, or neither", user)
	case user != "" && opts.Login != nil:
		return opts, invalid.Errorf("User and Login are both set; set one of them")
	case user != "":
		opts.Login = func() (string, string, error) { return user, password, nil }
	case opts.Login == nil:
		return opts, nil
	}
	if _, err := opts.loginPacket(); err != nil {
		return opts, invalid.Errorf("%w", err)
	}
	return opts, nil
}

// checkTTL refuses what the protocol cannot express. 0 is left to the caller.
func checkTTL(ttl time.Duration) error {
	if ttl%time.Millisecond != 0 || ttl > maxTTL {
		return invalid.Errorf("TTL is %v; ZooKeeper has whole milliseconds, at most %v",
			ttl, maxTTL)
	}
	return nil
}

// checkChroot refuses a path that cannot be a chroot; empty: none.
func checkChroot(chroot string) error {
	if chroot == "" {
		return nil
	}
	if !strings.HasPrefix(chroot, "/") || chroot == "/" || path.Clean(chroot) != chroot ||
		strings.ContainsFunc(chroot, unfit) {
		return invalid.Errorf("the chroot is %q; it is an absolute path without control characters, "+
			"dots and empty names, such as /apps", chroot)
	}
	return nil
}

// unfit reports whether ZooKeeper refuses a character in a path.
func unfit(r rune) bool {
	return r < ' ' || r >= 0x7f && r <= 0x9f || r >= 0xd800 && r <= 0xf8ff || r >= 0xfff0
}
