package kubernetes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/driver"
	"github.com/unalike-id/unalike/internal/drivers"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/wrongserver"
)

const (
	// scheme is that of this driver's URLs, for a pod in its cluster.
	scheme = "kubernetes"
	// plain is that of an API server that is named, without TLS: of 'kubectl proxy'.
	plain = "kubernetes+http"
	// plainPort is that of HTTP, which the client uses where a URL names none.
	plainPort = "80"
)

func init() {
	driver.Register(scheme, open)
	driver.Register(plain, open)
	drivers.SetPort(plain, plainPort)
}

// open makes a coordinator, and a client of its own, from a URL. It contacts nobody. With a context
// that has ended it checks the URL on any machine, in a pod or not.
func open(ctx context.Context, u *driver.URL) (coord.Coordinator, error) {
	c, err := openURL(ctx, u, serviceAccount, os.Getenv)
	if err != nil {
		return nil, u.Invalid(err)
	}
	return c, nil
}

// openURL is open for a pod that finds who it is in a folder and an environment.
func openURL(ctx context.Context, u *driver.URL, folder string, env func(string) string,
) (*protocol.Coordinator, error) {
	namespace, opts, err := parse(u)
	if err != nil {
		return nil, err
	}
	var base, token string
	check := &wrongserver.Check{Product: wrongserver.Kubernetes, Invalid: coord.ErrInvalid}
	opts.In = cmp.Or(opts.In, ownNamespace(folder))
	if u.Scheme == plain {
		base = "http://" + u.Hosts[0] + u.Path
		check.Addresses, err = u.Addresses(plainPort)
	} else {
		token = filepath.Join(folder, "token")
		base, check.TLS, err = inCluster(folder, env)
		if err != nil && ctx.Err() != nil {
			base, err = "https://kubernetes.default.svc", nil
		}
		check.Addresses = []string{strings.TrimPrefix(base, "https://")}
	}
	if err != nil {
		return nil, err
	}
	api := &api{client: newClient(check.TLS), own: true, token: token}
	c, err := build(api, base, namespace, opts)
	if err == nil {
		c.Life().Guard(check.Do)
	}
	return c, err
}

// parse reads a URL.
func parse(u *driver.URL) (namespace string, opts Options, _ error) {
	if err := u.CheckOptions("namespace", "in", "role", "skew"); err != nil {
		return "", opts, err
	}
	switch {
	case u.User != nil:
		return "", opts, errors.New("there is user information; a pod uses the token of its service " +
			"account, and 'kubectl proxy' adds yours")
	case u.Scheme == scheme && (len(u.Hosts) > 0 || u.Path != "" && u.Path != "/"):
		return "", opts, errors.New("there is a host or a path; a pod knows its API server: write " +
			"kubernetes://?namespace=name, and elsewhere run 'kubectl proxy' and write " +
			"kubernetes+http://127.0.0.1:8001?namespace=name")
	case u.Scheme == plain && len(u.Hosts) != 1:
		return "", opts, fmt.Errorf("there are %d hosts; write the one of 'kubectl proxy': "+
			"kubernetes+http://127.0.0.1:8001?namespace=name", len(u.Hosts))
	}
	if namespace = u.Option("namespace"); namespace == "" {
		return "", opts, errors.New("there is no namespace; add ?namespace=name")
	}
	opts.In, opts.Role = u.Option("in"), u.Option("role")
	opts.Clock, opts.Logger = u.Clock, u.Logger
	var err error
	if opts.Lease, err = u.Lease(); err != nil {
		return "", opts, err
	}
	opts.SkewBound, err = u.Duration("skew", "1s")
	return namespace, opts, err
}
