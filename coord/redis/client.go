package redis

import (
	"fmt"
	"slices"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/unalike-id/unalike/internal/invalid"
	"github.com/unalike-id/unalike/internal/lifetime"
)

// setup is how a client was set up.
type setup struct {
	kind      kind
	addrs     []string
	db        int
	replicas  bool // it may read what a replica has
	deadlines bool // it heeds those of contexts
	timeouts  []time.Duration
	age       time.Duration // the greatest of a connection; 0: it has no bound
}

// setupOf returns how a client was set up that the program has made. The driver uses that client
// and none that it derives, because [goredis.Client.WithTimeout] returns one without the program's
// hooks. Errors wrap [coord.ErrInvalid].
func setupOf(client goredis.UniversalClient) (s setup, _ error) {
	switch c := client.(type) {
	case *goredis.Client:
		if c != nil {
			o := c.Options()
			age := o.ConnMaxLifetime + o.ConnMaxLifetimeJitter
			if o.Addr == viaSentinel { // which says when the master is another one
				age = lifetime.MaxAge
			}
			return setup{
				single,
				[]string{o.Addr},
				o.DB, false, o.ContextTimeoutEnabled,
				[]time.Duration{o.ReadTimeout, o.WriteTimeout},
				age,
			}, nil
		}
	case *goredis.ClusterClient:
		if c != nil {
			o := c.Options()
			return setup{
				cluster, o.Addrs, 0, o.ReadOnly, o.ContextTimeoutEnabled,
				[]time.Duration{o.ReadTimeout, o.WriteTimeout},
				lifetime.MaxAge, // its nodes say where a slot is
			}, nil
		}
	case *goredis.Ring:
		return s, invalid.Errorf("a Redis Ring moves keys to another server when one is not well, and " +
			"nothing of what they held goes with them; use a Cluster, Sentinel, or one server")
	case nil:
	default:
		return s, invalid.Errorf("the Redis client is a %T; a *redis.Client or a "+
			"*redis.ClusterClient is needed", client)
	}
	return s, invalid.Errorf("the Redis client is nil")
}

// check refuses a client that may ask a replica, or wait for an answer without end.
func (s setup) check() error {
	var demands []string
	if s.replicas {
		demands = append(demands, "clear ReadOnly, RouteByLatency and RouteRandomly, with which it may "+
			"ask a replica")
	}
	if slices.ContainsFunc(s.timeouts, s.endless) {
		demands = append(demands, fmt.Sprintf("a call may last for more than %v with ReadTimeout %v and "+
			"WriteTimeout %v: set ContextTimeoutEnabled, and both to -1", longestCall, s.timeouts[0],
			s.timeouts[1]))
	}
	if demands == nil {
		return nil
	}
	return invalid.Errorf("options of the Redis client: %s",
		strings.Join(demands, "; "))
}

// endless reports whether a timeout lets a call last for longer than [longestCall]. A client keeps
// -2, with which it heeds no deadline, and has 0 for -1, which is no timeout.
func (s setup) endless(timeout time.Duration) bool {
	if s.deadlines {
		return timeout < 0
	}
	return timeout <= 0 || timeout > longestCall
}

// warnings are what is not good about a client, and no reason to refuse it.
func (s setup) warnings() (all []string) {
	for _, timeout := range s.timeouts {
		if 0 < timeout && timeout < longestCall {
			all = append(all, fmt.Sprintf("the Redis client cuts connections whose answer takes longer "+
				"than %v, whatever time a call has; a Redis that is slower never serves; set "+
				"ContextTimeoutEnabled, and ReadTimeout and WriteTimeout to -1, in its options", timeout))
			break
		}
	}
	if s.age <= 0 || s.age > lifetime.MaxAge {
		all = append(all, fmt.Sprintf("the Redis client may miss that a server's name has moved; "+
			"set ConnMaxLifetime in its options to at most %v, jitter included", lifetime.MaxAge))
	}
	return all
}

// where says where a client connects to: for error messages, and as the place of a namespace.
// That is empty if the servers are not known.
func (s setup) where(namespace string) (at, place string) {
	switch {
	case len(s.addrs) == 0:
		return "the servers that the client finds", ""
	case slices.Contains(s.addrs, viaSentinel):
		return "the master that Sentinel names", ""
	}
	return strings.Join(s.addrs, ", "), s.kind.place(s.addrs, "", s.db, namespace)
}

// isSingle reports whether the client is for one server.
func (s setup) isSingle() bool {
	return s.kind.scheme == single.scheme && !slices.Contains(s.addrs, viaSentinel)
}

// viaSentinel is what the client library has for an address where Sentinel is asked.
const viaSentinel = "FailoverClient"
