package kubernetes

import (
	"cmp"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/driver"
	"github.com/unalike-id/unalike/internal/drivers"
	"github.com/unalike-id/unalike/internal/invalid"
	"github.com/unalike-id/unalike/internal/lifetime"
	"github.com/unalike-id/unalike/internal/protocol"
)

const (
	// MinTTL is the shortest TTL: the API server tells the time in whole seconds.
	MinTTL = 2 * time.Second
	// MaxHorizon is the longest horizon. It is a constant, because after a loss of
	// data it is all that is known of the windows that were lost: nothing is granted
	// until the longest one that there can have been is over.
	MaxHorizon = 2 * time.Minute
	// DefaultSkewBound is how far a clock may be from the API server's.
	DefaultSkewBound = time.Second
	// MaxCapacity is how many worker IDs a namespace can have: each is an object.
	MaxCapacity = 1 << 14
	// DefaultRole is the Role that errors name.
	DefaultRole = "unalike"
)

// Options are the settings of [New] beyond client, address and namespace. The zero Options
// works.
type Options struct {
	// In is the Kubernetes namespace that has the objects. Empty: that of the pod, and
	// "default" outside of a cluster.
	In string
	// Role is the Role that an error about missing rights names. Empty: unalike.
	Role string
	// Lease sets the times of the lease, for all generators that use this
	// coordinator. Zero fields: TTL 15 s, Horizon 30 s, RenewEvery a third of the shorter one.
	Lease coord.LeaseConfig
	// SkewBound is how far a clock may be from the API server's. 0: 1 s.
	SkewBound time.Duration
	// Clock tells the time of renewals. Nil: the system's. Give the same clock to the
	// generator.
	Clock clock.Clock
	// Logger receives what an operator may want to know. Nil: warnings go to
	// slog.Default(), as with core.Config.
	Logger *slog.Logger
}

// names are the names that Kubernetes allows for a namespace, and for a part of other names.
var names = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

// roles are the names that Kubernetes allows for a Role.
var roles = regexp.MustCompile(`^[!-$&-.0-~]{1,253}$`)

// resolve fills in defaults and checks the options.
func (opts Options) resolve() (Options, error) {
	if err := lifetime.Resolve(opts.Lease, &opts.SkewBound, &opts.Clock, &opts.Logger, MaxHorizon,
		DefaultSkewBound); err != nil {
		return opts, err
	}
	opts.In = cmp.Or(opts.In, ownNamespace(serviceAccount))
	if !names.MatchString(opts.In) {
		return opts, invalid.Errorf("In is %q; the name of a Kubernetes namespace has 1 to 63 "+
			"lower case letters, digits and hyphens", opts.In)
	}
	opts.Role = cmp.Or(opts.Role, DefaultRole)
	if !roles.MatchString(opts.Role) {
		return opts, invalid.Errorf("Role is %q; the name of a Role has 1 to 253 characters and "+
			"no space, / or %%", opts.Role)
	}
	return opts, nil
}

// New returns a coordinator for a namespace in the cluster whose API server has a base URL,
// such as https://10.0.0.1:443. The client adds what the API server wants to see of its user,
// as one of client-go's does; it stays the caller's. New contacts nobody. Errors wrap
// [coord.ErrInvalid].
func New(client *http.Client, baseURL, namespace string, opts Options,
) (coord.AdminCoordinator, error) {
	if client == nil {
		return nil, invalid.Errorf("the client is nil")
	}
	return protocol.Public(build(&api{client: client}, baseURL, namespace, opts))
}

// build is New for an api of which the client is known, and how it shows who it is.
func build(a *api, baseURL, namespace string, opts Options) (*protocol.Coordinator, error) {
	if err := driver.CheckNamespace(namespace); err != nil {
		return nil, err
	}
	opts, err := opts.resolve()
	if err != nil {
		return nil, err
	}
	base, err := url.Parse(baseURL)
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" ||
		base.RawQuery != "" || base.User != nil {
		return nil, invalid.Errorf("the address of the API server is not understood; it is http:// or " +
			"https:// with a host, for example https://10.0.0.1:443")
	}
	a.in, a.role = opts.In, opts.Role
	a.leases = strings.TrimSuffix(base.String(), "/") +
		"/apis/coordination.k8s.io/v1/namespaces/" + opts.In + "/leases"
	return protocol.New(newStore(a, namespace, opts), protocol.Settings{
		Driver: "kubernetes", Title: "the Kubernetes cluster", Namespace: namespace,
		Place: drivers.JoinPlace("kubernetes", a.leases, namespace),
		Lease: opts.Lease, MinTTL: MinTTL, MaxHorizon: MaxHorizon,
		ShortOnly: "a Kubernetes cluster can lose the object of the namespace alone, and with it how " +
			"far its windows reach",
		SkewBound: opts.SkewBound, Clock: opts.Clock, Logger: opts.Logger, ServerClock: true,
	})
}
