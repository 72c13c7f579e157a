package sqldb

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/unalike-id/unalike/coord/driver"
	"github.com/unalike-id/unalike/internal/drivers"
	"github.com/unalike-id/unalike/internal/tlsfiles"
	"github.com/unalike-id/unalike/internal/wrongserver"
)

// DialTime is how long it may take to connect: with TLS and a password, that is several
// answers.
const DialTime = 10 * time.Second

// Conns is how many connections a pool may have that is made from a URL.
const Conns = 8

// ServerOptions are the options of a URL that [Scheme.Server] reads.
var ServerOptions = slices.Concat([]string{"socket"}, tlsfiles.Options, drivers.LoginOptions)

// Server is the database that a URL leads to.
type Server struct {
	Database string
	Addrs    []string // host:port
	Socket   string   // instead of Addrs
	User     string   // of the URL; empty: it may change, and Login has it
	Login    func() (user, password string, err error)
	TLS      *tlsfiles.Files // nil: none
	Scheme   string          // of the URL
}

// Scheme is what URLs of a driver look like.
type Scheme struct {
	Name, Alias, Port string
	Several           bool   // servers may be named
	Product           string // one of package wrongserver
}

// All are the names of the scheme: each of its two names, plain and with TLS.
func (s Scheme) All() []string {
	return []string{s.Name, secure(s.Name), s.Alias, secure(s.Alias)}
}

// Secure reports whether a name of the scheme is one with TLS.
func (s Scheme) Secure(name string) bool {
	return name == secure(s.Name) || name == secure(s.Alias)
}

// secure is the name of a scheme with TLS.
func secure(name string) string { return name + "s" }

// SetPort says which port the servers listen on unless a URL names another one.
func (s Scheme) SetPort() {
	for _, name := range s.All() {
		drivers.SetPort(name, s.Port)
	}
}

// Check returns the check of a server. It expects nothing of a server behind a Unix socket.
func (s Scheme) Check(t Server, invalid error) *wrongserver.Check {
	return &wrongserver.Check{
		Product: s.Product, Addresses: t.Addrs, Later: t.TLS != nil, Invalid: invalid,
	}
}

// foreign are options of other clients that say whether there is TLS.
var foreign = []string{"sslmode", "ssl-mode", "tls"}

// Server reads where the database is. Example is the end of a URL that is complete.
func (s Scheme) Server(u *driver.URL, example string) (t Server, err error) {
	usage := fmt.Sprintf("write %s://user:password@host:%s/database?%s", u.Scheme, s.Port, example)
	for _, name := range foreign {
		if u.Has(name) {
			return t, fmt.Errorf("option %q is of other clients; leave it out, and write %s:// for TLS or "+
				"%s:// for none", name, secure(s.Name), s.Name)
		}
	}
	t.Scheme = u.Scheme
	t.Database, t.Socket = strings.TrimPrefix(u.Path, "/"), u.Option("socket")
	switch {
	case len(u.Hosts) == 0 && t.Socket == "":
		return t, errors.New("there is no host; " + usage)
	case len(u.Hosts) > 0 && t.Socket != "":
		return t, errors.New("there are a host and a socket; give one of them")
	case len(u.Hosts) > 1 && !s.Several:
		return t, fmt.Errorf("there are %d hosts; give the one that is written to, or a name that "+
			"leads there", len(u.Hosts))
	case t.Database == "" || strings.Contains(t.Database, "/"):
		return t, errors.New("there is no database, or more than one; " + usage)
	}
	if t.Login, err = u.Login(); err != nil {
		return t, err
	}
	if u.User != nil {
		t.User = u.User.Username()
	}
	if user, _, err := t.Login(); err != nil || user == "" {
		return t, cmp.Or(err, errors.New("there is no user; "+usage))
	}
	if t.Addrs, err = u.Addresses(s.Port); err != nil {
		return t, err
	}
	if !s.Secure(u.Scheme) {
		return t, tlsfiles.None(u, secure(u.Scheme))
	}
	if t.Socket != "" {
		return t, fmt.Errorf("a socket has no TLS; write %s://", strings.TrimSuffix(u.Scheme, "s"))
	}
	t.TLS, err = tlsfiles.FromURL(u)
	return t, err
}
