package driver

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/drivers"
	"github.com/unalike-id/unalike/internal/spelling"
)

// URL is a parsed coordinator URL: scheme://user:password@host1:port,host2/path?options.
// Unlike net/url it knows lists of hosts, and none of its errors contains a
// password.
type URL struct {
	coord.OpenOptions // beside the URL, for an [Opener]

	Scheme  string
	User    *url.Userinfo // nil: none
	Hosts   []string      // host or host:port, IPv6 in brackets, in the order given
	Path    string        // unescaped, with its leading slash; may be empty
	options url.Values
	taken   []string // options that were read and left out, see Without
}

// ParseURL parses s. Errors wrap [coord.ErrInvalid], say what is wrong and what is
// allowed, and never contain the user information.
func ParseURL(s string) (*URL, error) {
	scheme, rest, err := drivers.CutScheme(s)
	if err != nil {
		return nil, fmt.Errorf("%w URL: %w", coord.ErrInvalid, err)
	}
	u := &URL{Scheme: scheme}
	rest, query, _ := strings.Cut(rest, "?")
	authority, path := rest, ""
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		authority, path = rest[:i], rest[i:]
	}
	// With a / or ? in it that is not escaped, a password reaches into what follows.
	if authority != "" && strings.Contains(path+query, "@") {
		return nil, u.invalid("there is an unescaped @ after the hosts; write %%40, and in a " +
			"password / as %%2F and ? as %%3F")
	}
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		if u.User, err = parseUser(authority[:i]); err != nil {
			return nil, u.invalid("%w", err)
		}
		authority = authority[i+1:]
	}
	if u.Hosts, err = parseHosts(authority); err != nil {
		return nil, u.invalid("%w", err)
	}
	if u.Path, err = url.PathUnescape(path); err != nil {
		return nil, u.invalid("the path is not escaped correctly; a %% is written %%25")
	}
	if u.options, err = url.ParseQuery(query); err != nil {
		return nil, u.invalid("the options after the question mark are not escaped correctly")
	}
	for _, name := range u.optionNames() {
		if n := len(u.options[name]); n > 1 {
			return nil, u.invalid("option %q is given %d times; give it once", name, n)
		}
	}
	return u, nil
}

// Option returns the value of an option, or "" if it is not given.
func (u *URL) Option(name string) string { return u.options.Get(name) }

// Has tells whether an option is given, with whatever value.
func (u *URL) Has(name string) bool { return u.options.Has(name) }

// Without returns u without an option, which whoever calls this has read. The option stays
// in the lists of those that are known.
func (u *URL) Without(name string) *URL {
	rest := *u
	rest.options = maps.Clone(u.options)
	rest.options.Del(name)
	rest.taken = append(slices.Clone(u.taken), name)
	return &rest
}

// With returns u with an option set.
func (u *URL) With(name, value string) *URL {
	more := *u
	more.options = maps.Clone(u.options)
	more.options.Set(name, value)
	return &more
}

// Addresses returns the hosts in the form host:port, with a port for those that have none.
// The error wraps [coord.ErrInvalid] if two of them are the same then.
func (u *URL) Addresses(port string) ([]string, error) {
	var all []string
	for _, h := range u.Hosts {
		if strings.HasSuffix(h, "]") || !strings.Contains(h, ":") {
			h = net.JoinHostPort(strings.Trim(h, "[]"), port)
		}
		if slices.Contains(all, h) {
			return nil, u.invalid("host %q is listed twice, once without its port", h)
		}
		all = append(all, h)
	}
	return all, nil
}

// leaseOptions are the options that every driver has.
var leaseOptions = []string{"ttl", "horizon", "renew"}

// CheckOptions returns an error that lists the known options if u has another
// one. Known are those given and the lease times ttl, horizon and renew.
func (u *URL) CheckOptions(known ...string) error {
	if u.Has(stateOption) && !slices.Contains(known, stateOption) {
		return u.invalid("option state is for generators (unalike.Open, unalike.Start, package " +
			"config); with core.New, set core.Config.StateFile")
	}
	return u.OnlyOptions(append(slices.Clone(known), leaseOptions...)...)
}

// OnlyOptions is CheckOptions for what has no leases: known are those given.
func (u *URL) OnlyOptions(known ...string) error {
	all := slices.Sorted(slices.Values(append(slices.Clone(known), u.taken...)))
	for _, name := range u.optionNames() {
		if !slices.Contains(all, name) {
			return u.invalid("unknown option %q; known are %s%s", name, strings.Join(all, ", "),
				spelling.DidYouMean(name, all))
		}
	}
	return nil
}

// stateOption is the option of a URL that names the state file of a generator.
const stateOption = "state"

// CutStateFile returns the URL of a coordinator without its option state, and the state file that
// the option names, for core.Config.StateFile. A static coordinator has a state file of another
// kind: its URL is returned as it is. Errors wrap [coord.ErrInvalid].
func CutStateFile(rawURL string) (rest, file string, err error) {
	u, err := ParseURL(rawURL)
	if err != nil || u.Scheme == "static" || !u.Has(stateOption) {
		return rawURL, "", err
	}
	if file = u.Option(stateOption); file == "" {
		return rawURL, "", u.invalid("option state is empty; name a file, or leave the option out")
	}
	return u.Without(stateOption).Text(), file, nil
}

// Lease returns the lease times that the options ttl, horizon and renew set.
func (u *URL) Lease() (coord.LeaseConfig, error) {
	var l coord.LeaseConfig
	for _, t := range []struct {
		option, field string
		to            *time.Duration
	}{
		{"ttl", "TTL", &l.TTL},
		{"horizon", "Horizon", &l.Horizon},
		{"renew", "RenewEvery", &l.RenewEvery},
	} {
		d, err := u.Duration(t.option, "15s")
		switch {
		case err != nil:
			return l, err
		case d != 0:
			*t.to = d
		}
	}
	return l, nil
}

// Duration returns an option that is a duration above 0, and 0 if it is not there. The
// error of another value shows the example.
func (u *URL) Duration(name, example string) (time.Duration, error) {
	if !u.Has(name) {
		return 0, nil
	}
	d, err := time.ParseDuration(u.Option(name))
	if err != nil || d <= 0 {
		return 0, u.invalid("option %s is %q; it is a positive duration with a unit, for example %s",
			name, u.Option(name), example)
	}
	return d, nil
}

// shown are the options whose values are printed. Another one may be a password, under a name
// that is misspelt.
var shown = append([]string{
	"accept", "ca", "cert", "count", "durable", "failover", "fresh", "in", "key", "namespace",
	drivers.PasswordFile, "prefix", "role", "sentinel_password_file", "sentinel_user",
	"sentinel_user_file", "skew", "socket", "state", "table", drivers.UserFile, "worker",
}, leaseOptions...)

// String prints the URL with its password replaced, and the values of options that no driver
// of this module has, or that hold passwords. ParseURL reads what is printed.
func (u *URL) String() string {
	user := ""
	if u.User != nil {
		if _, ok := u.User.Password(); ok {
			user = url.User(u.User.Username()).String() + ":"
		}
		// What stands alone may be a password whose colon was forgotten.
		user += "xxxxx@" //mutant:password
	}
	options := maps.Clone(u.options)
	for name := range options {
		secret := strings.HasSuffix(name, drivers.PasswordFile) ||
			strings.HasSuffix(name, drivers.UserFile)
		if !slices.Contains(shown, name) || secret && !filepath.IsAbs(u.Option(name)) {
			options[name] = []string{"xxxxx"}
		}
	}
	return u.join(user, options)
}

// Text returns the URL with its password, for [coord.Open].
func (u *URL) Text() string {
	user := ""
	if u.User != nil {
		user = u.User.String() + "@"
	}
	return u.join(user, u.options)
}

func (u *URL) join(user string, options url.Values) string {
	path := strings.ReplaceAll((&url.URL{Path: u.Path}).EscapedPath(), "@", "%40")
	text := u.Scheme + "://" + user + strings.Join(u.Hosts, ",") + path
	if len(options) > 0 {
		text += "?" + options.Encode()
	}
	return text
}

// Invalid returns err as one that wraps [coord.ErrInvalid]: with the words that it is about this
// URL, unless it does so already.
func (u *URL) Invalid(err error) error {
	if errors.Is(err, coord.ErrInvalid) {
		return err
	}
	return fmt.Errorf("%w %s URL: %w", coord.ErrInvalid, u.Scheme, err)
}

// Folder returns the absolute path on the system goos that the URL has.
func (u *URL) Folder(goos string) (string, error) {
	path := u.Path
	if goos != "windows" {
		return path, nil
	}
	if len(path) < 4 || path[2] != ':' || path[3] != '/' {
		return "", fmt.Errorf("the folder %q has no drive; write %s:///C:/folder", path, u.Scheme)
	}
	return filepath.FromSlash(path[1:]), nil
}

func (u *URL) invalid(format string, args ...any) error {
	return u.Invalid(fmt.Errorf(format, args...))
}

func (u *URL) optionNames() []string {
	names := make([]string, 0, len(u.options))
	for name := range u.options {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func parseUser(s string) (*url.Userinfo, error) {
	if strings.ContainsAny(s, "@ ") {
		return nil, errors.New("the user information contains an unescaped @ or space; write %40 or %20")
	}
	name, password, has := strings.Cut(s, ":")
	n, err1 := url.PathUnescape(name)
	p, err2 := url.PathUnescape(password)
	if err1 != nil || err2 != nil {
		return nil, errors.New("the user information is not escaped correctly; write % as %25")
	}
	if !has {
		return url.User(n), nil
	}
	return url.UserPassword(n, p), nil
}

func parseHosts(s string) ([]string, error) {
	if s == "" {
		return nil, nil
	}
	hosts := strings.Split(s, ",")
	for i, h := range hosts {
		if h == "" {
			return nil, fmt.Errorf("host %d of the list is empty", i+1)
		}
		if err := checkHost(i+1, h); err != nil {
			return nil, err
		}
		if slices.Contains(hosts[:i], h) {
			return nil, fmt.Errorf("host %q is listed twice", h)
		}
	}
	return hosts, nil
}

// checkHost checks the n-th host of the list. What follows a colon is printed only
// if it is a number: without the @ and a host, it is a password.
func checkHost(n int, h string) error {
	var name, port string
	hasPort := false
	if strings.HasPrefix(h, "[") {
		end := strings.IndexByte(h, ']')
		if end < 0 || net.ParseIP(h[1:end]) == nil {
			return fmt.Errorf("host %d of the list begins with a bracket and is not an IPv6 address "+
				"in brackets",
				n)
		}
		name, port = h[1:end], h[end+1:]
		if port != "" {
			if port, hasPort = strings.CutPrefix(port, ":"); !hasPort {
				return fmt.Errorf("host %q has text after the bracket; a port is written [address]:port",
					h[:end+1])
			}
		}
	} else {
		name, port, hasPort = strings.Cut(h, ":")
		if strings.Contains(port, ":") {
			return fmt.Errorf("host %d of the list, %q, has several colons; write an IPv6 address as "+
				"[address]:port",
				n, name+":...")
		}
	}
	switch {
	case name == "":
		return fmt.Errorf("host %d of the list has no name", n)
	case strings.ContainsAny(name, " \t\r\n[]"):
		return fmt.Errorf("host %d of the list, %q, contains a space or a bracket", n, name)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool {
		return !unicode.IsPrint(r)
	}):
		return fmt.Errorf("host %d of the list, %q, contains a character that cannot be printed",
			n, name)
	case !hasPort:
		return nil
	case port == "" || strings.Trim(port, "0123456789") != "":
		return fmt.Errorf("host %d of the list, %q, has a port that is not a number; a port is a number "+
			"from 1 to 65535, and a user and password end in @",
			n, name)
	}
	if v, err := strconv.ParseUint(port, 10, 16); err != nil || v == 0 {
		return fmt.Errorf("host %q has port %q; a port is a number from 1 to 65535", h, port)
	}
	return nil
}
