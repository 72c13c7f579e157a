package redis

import (
	"fmt"
	"slices"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/lifetime"
)

// setup is how a client was set up.
type setup struct {
	kind      kind
	addrs     []string
	db        int
	retries   int
	replicas  bool // it may read what a replica has
	deadlines bool // it heeds those of contexts
	timeouts  []time.Duration
	age       time.Duration // the greatest of a connection; 0: it has no bound
}

// setupOf returns how a client was set up that somebody else has made. Errors wrap
// [coord.ErrInvalid].
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
				o.DB, o.MaxRetries, false, o.ContextTimeoutEnabled,
				[]time.Duration{o.ReadTimeout, o.WriteTimeout},
				age,
			}, nil
		}
	case *goredis.ClusterClient:
		if c != nil {
			o := c.Options()
			return setup{
				cluster, o.Addrs, 0, o.MaxRetries, o.ReadOnly, o.ContextTimeoutEnabled,
				[]time.Duration{o.ReadTimeout, o.WriteTimeout},
				lifetime.MaxAge, // its nodes say where a slot is
			}, nil
		}
	case *goredis.Ring:
		return s, fmt.Errorf("%w: a Redis Ring moves keys to another server when one is not well, and "+
			"nothing of what they held goes with them; use a Cluster, Sentinel, or one server",
			coord.ErrInvalid)
	case nil:
	default:
		return s, fmt.Errorf("%w: the Redis client is a %T; a *redis.Client or a "+
			"*redis.ClusterClient is needed", coord.ErrInvalid, client)
	}
	return s, fmt.Errorf("%w: the Redis client is nil", coord.ErrInvalid)
}

// check refuses a client that would not do what this driver relies on.
func (s setup) check() error {
	switch {
	case s.replicas:
		return fmt.Errorf("%w: the Redis client has ReadOnly, RouteByLatency or RouteRandomly set, with "+
			"which it may read what a replica has; clear them", coord.ErrInvalid)
	case s.retries > 0: // what was -1 is 0 in a client
		return fmt.Errorf("%w: the Redis client makes %d retries (MaxRetries in its options, of which 0 "+
			"means 3 unless it is a Cluster's); set it to -1: a call that is made again after its time is "+
			"answered to nobody, and the generator's keeper makes retries of its own", coord.ErrInvalid,
			s.retries)
	case !s.deadlines:
		return fmt.Errorf("%w: the Redis client ignores the deadlines of contexts; set "+
			"ContextTimeoutEnabled in its options", coord.ErrInvalid)
	}
	for _, timeout := range s.timeouts {
		if timeout < 0 { // so a client keeps -2, and 0 where -1 was given
			return fmt.Errorf("%w: the Redis client has a ReadTimeout or WriteTimeout of -2, with which it "+
				"ignores the deadlines of contexts; set it to 0, -1 or a duration", coord.ErrInvalid)
		}
	}
	return nil
}

// warnings are what is not good about a client, and no reason to refuse it.
func (s setup) warnings() (all []string) {
	for _, timeout := range s.timeouts {
		if 0 < timeout && timeout < longestCall {
			all = append(all, fmt.Sprintf("the Redis client cuts connections whose answer takes longer "+
				"than %v, whatever time a call has; a Redis that is slower never serves; set ReadTimeout "+
				"and WriteTimeout to -1 in its options", timeout))
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

// viaSentinel is what the client library has for an address where Sentinel is asked.
const viaSentinel = "FailoverClient"
