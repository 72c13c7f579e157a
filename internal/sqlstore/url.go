package sqlstore

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/tlsfiles"
)

// DialTime is how long it may take to connect: with TLS and a password, that is several
// answers.
const DialTime = 10 * time.Second

// Conns is how many connections a pool may have that is made from a URL.
const Conns = 8

// Target is what a URL says.
type Target struct {
	Namespace, Database string
	Addrs               []string // host:port
	Socket              string   // instead of Addrs
	User, Password      string
	TLS                 *tls.Config // nil: none
	Options             Options
}

// Scheme is what URLs of a driver look like.
type Scheme struct {
	Name, Port string
	Several    bool // servers may be named
}

// Secure is the scheme with TLS.
func (s Scheme) Secure() string { return s.Name + "s" }

// Parse reads a URL.
func (s Scheme) Parse(u *coord.URL) (Target, error) {
	t, err := s.parse(u)
	if err != nil && !errors.Is(err, coord.ErrInvalid) {
		err = fmt.Errorf("%w %s URL: %w", coord.ErrInvalid, u.Scheme, err)
	}
	t.Options.Logger = u.Logger
	return t, err
}

func (s Scheme) parse(u *coord.URL) (t Target, err error) {
	if err := u.CheckOptions("namespace", "socket", "prefix", "accept", "skew", "ca", "cert", "key"); err != nil {
		return t, err
	}
	usage := fmt.Sprintf("write %s://user:password@host:%s/database?namespace=name", u.Scheme, s.Port)
	t.Namespace, t.Database, t.Socket = u.Option("namespace"), strings.TrimPrefix(u.Path, "/"), u.Option("socket")
	switch {
	case len(u.Hosts) == 0 && t.Socket == "":
		return t, errors.New("there is no host; " + usage)
	case len(u.Hosts) > 0 && t.Socket != "":
		return t, errors.New("there are a host and a socket; give one of them")
	case len(u.Hosts) > 1 && !s.Several:
		return t, fmt.Errorf("there are %d hosts; give the one that is written to, or a name that leads there", len(u.Hosts))
	case t.Database == "" || strings.Contains(t.Database, "/"):
		return t, errors.New("there is no database, or more than one; " + usage)
	case t.Namespace == "":
		return t, errors.New("there is no namespace; " + usage)
	case u.User == nil || u.User.Username() == "":
		return t, errors.New("there is no user; " + usage)
	}
	if err := coord.CheckNamespace(t.Namespace); err != nil {
		return t, err
	}
	t.User = u.User.Username()
	t.Password, _ = u.User.Password()
	for _, h := range u.Hosts {
		if strings.HasSuffix(h, "]") || !strings.Contains(h, ":") {
			h = net.JoinHostPort(strings.Trim(h, "[]"), s.Port)
		}
		t.Addrs = append(t.Addrs, h)
	}
	return t, t.parseOptions(s, u)
}

func (t *Target) parseOptions(s Scheme, u *coord.URL) (err error) {
	t.Options.Prefix = u.Option("prefix")
	if names := u.Option("accept"); names != "" {
		t.Options.Accept = strings.Split(names, ",")
	}
	if t.Options.Lease, err = u.Lease(); err != nil {
		return err
	}
	if t.Options.SkewBound, err = u.Duration("skew", "1s"); err != nil {
		return err
	}
	if _, err = t.Options.Resolve(); err != nil {
		return err
	}
	if u.Scheme != s.Secure() {
		return tlsfiles.None(u, s.Secure())
	}
	if t.Socket != "" {
		return fmt.Errorf("a socket has no TLS; write %s://", s.Name)
	}
	t.TLS, err = tlsfiles.Config(u, clock.System())
	return err
}
