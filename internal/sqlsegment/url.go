package sqlsegment

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/tlsfiles"
	"github.com/unalike-id/unalike/segment"
)

// DialTime is how long it may take to connect: with TLS and a password, that is several answers.
const DialTime = 10 * time.Second

// Conns is how many connections a pool may have that is made from a URL.
const Conns = 8

// Target is what a URL says.
type Target struct {
	Database       string
	Addrs          []string // host:port
	Socket         string   // instead of Addrs
	User, Password string
	TLS            *tls.Config // nil: none
	Options        Options
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
	if err != nil {
		if !errors.Is(err, coord.ErrInvalid) {
			err = fmt.Errorf("%s URL: %w", u.Scheme, err)
		}
		err = fmt.Errorf("%w: %w", segment.ErrInvalidConfig, err)
	}
	return t, err
}

func (s Scheme) parse(u *coord.URL) (t Target, err error) {
	if err := u.OnlyOptions("table", "durable", "failover", "socket", "ca", "cert", "key"); err != nil {
		return t, err
	}
	usage := fmt.Sprintf("write %s://user:password@host:%s/database?table=%s", u.Scheme, s.Port, DefaultTable)
	t.Database, t.Socket = strings.TrimPrefix(u.Path, "/"), u.Option("socket")
	switch {
	case len(u.Hosts) == 0 && t.Socket == "":
		return t, errors.New("there is no host; " + usage)
	case len(u.Hosts) > 0 && t.Socket != "":
		return t, errors.New("there are a host and a socket; give one of them")
	case len(u.Hosts) > 1 && !s.Several:
		return t, fmt.Errorf("there are %d hosts; give the one that is written to, or a name that leads there", len(u.Hosts))
	case t.Database == "" || strings.Contains(t.Database, "/"):
		return t, errors.New("there is no database, or more than one; " + usage)
	case u.User == nil || u.User.Username() == "":
		return t, errors.New("there is no user; " + usage)
	}
	t.User = u.User.Username()
	t.Password, _ = u.User.Password()
	for _, h := range u.Hosts {
		if strings.HasSuffix(h, "]") || !strings.Contains(h, ":") {
			h = net.JoinHostPort(strings.Trim(h, "[]"), s.Port)
		}
		t.Addrs = append(t.Addrs, h)
	}
	t.Options.Logger = u.Logger
	return t, t.parseOptions(s, u)
}

func (t *Target) parseOptions(s Scheme, u *coord.URL) (err error) {
	t.Options.Table = u.Option("table")
	if t.Options.RequireDurable, t.Options.Skip, err = ParseSafety(u); err != nil {
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

// ParseSafety reads the options durable and failover, which all stores have.
func ParseSafety(u *coord.URL) (durable bool, skip int64, err error) {
	switch v := u.Option("durable"); {
	case v == "require":
		durable = true
	case v != "warn" && u.Has("durable"):
		return false, 0, fmt.Errorf("option durable is %q; it is require or warn", v)
	}
	if u.Has("failover") {
		v := u.Option("failover")
		n, ok := strings.CutPrefix(v, "skip:")
		if skip, err = strconv.ParseInt(n, 10, 64); v != "stop" && (!ok || err != nil || skip < 1 || skip > segment.MaxStep) {
			return false, 0, fmt.Errorf("option failover is %q; it is stop, or skip:N with N from 1 to %d, for example skip:1000000", v, int64(segment.MaxStep))
		}
	}
	return durable, skip, nil
}
