package redis

import (
	"fmt"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/unalike-id/unalike/coord"
)

// checkClient refuses clients that would not do what this driver relies on.
func checkClient(client goredis.UniversalClient) error {
	switch c := client.(type) {
	case nil:
		return fmt.Errorf("%w: the Redis client is nil", coord.ErrInvalid)
	case *goredis.Client:
		if c == nil {
			return fmt.Errorf("%w: the Redis client is nil", coord.ErrInvalid)
		}
		return checkSingle(c.Options())
	case *goredis.ClusterClient:
		if c == nil {
			return fmt.Errorf("%w: the Redis client is nil", coord.ErrInvalid)
		}
		return checkCluster(c.Options())
	case *goredis.Ring:
		return fmt.Errorf("%w: a Redis Ring moves keys to another server when one is not well, and "+
			"nothing of what they held goes with them; use a Cluster, Sentinel, or one server",
			coord.ErrInvalid)
	}
	return fmt.Errorf("%w: the Redis client is a %T; a *redis.Client or a "+
		"*redis.ClusterClient is needed", coord.ErrInvalid, client)
}

func checkSingle(o *goredis.Options) error {
	switch {
	case o.MaxRetries > 0: // what was -1 is 0 in a client
		return fmt.Errorf("%w: the Redis client makes %d retries (Options.MaxRetries; 0 means 3); set "+
			"it to -1: a call that is made again after its time is answered to nobody, and the generator's "+
			"keeper makes retries of its own", coord.ErrInvalid, o.MaxRetries)
	case !o.ContextTimeoutEnabled:
		return errNoTimeouts()
	}
	return checkTimeouts(int64(o.ReadTimeout), int64(o.WriteTimeout))
}

func checkCluster(o *goredis.ClusterOptions) error {
	switch {
	case o.RouteByLatency:
		return errReplicas("RouteByLatency")
	case o.RouteRandomly:
		return errReplicas("RouteRandomly")
	case o.ReadOnly:
		return errReplicas("ReadOnly")
	case o.MaxRetries > 0:
		return fmt.Errorf("%w: the Redis client makes %d retries on each node "+
			"(ClusterOptions.MaxRetries); leave it at 0 or set it to -1", coord.ErrInvalid, o.MaxRetries)
	case !o.ContextTimeoutEnabled:
		return errNoTimeouts()
	}
	return checkTimeouts(int64(o.ReadTimeout), int64(o.WriteTimeout))
}

func errReplicas(option string) error {
	return fmt.Errorf("%w: the Redis client has %s set, with which it may read what a replica "+
		"has; clear it", coord.ErrInvalid, option)
}

func errNoTimeouts() error {
	return fmt.Errorf("%w: the Redis client ignores the deadlines of contexts; set "+
		"ContextTimeoutEnabled in its options", coord.ErrInvalid)
}

// checkTimeouts refuses the value with which the client does not set a deadline at
// all. Clients keep it as it was given, or as -1.
func checkTimeouts(read, write int64) error {
	if read < 0 || write < 0 {
		return fmt.Errorf("%w: the Redis client has a ReadTimeout or WriteTimeout of -2, with which it "+
			"ignores the deadlines of contexts; set it to 0, -1 or a duration", coord.ErrInvalid)
	}
	return nil
}

// timeouts are the client's own for one answer and one request; 0: none.
func timeouts(client goredis.UniversalClient) (read, write time.Duration) {
	switch client := client.(type) {
	case *goredis.Client:
		return client.Options().ReadTimeout, client.Options().WriteTimeout
	case *goredis.ClusterClient:
		return client.Options().ReadTimeout, client.Options().WriteTimeout
	}
	return 0, 0
}

// warnings are about a client that was passed in.
func warnings(client goredis.UniversalClient) []string {
	read, write := timeouts(client)
	for _, timeout := range []time.Duration{read, write} {
		if 0 < timeout && timeout < longestCall {
			return []string{fmt.Sprintf("the Redis client cuts connections whose answer takes longer than "+
				"%v, whatever time a call has; a Redis that is slower never serves; set ReadTimeout and "+
				"WriteTimeout to -1 in its options", timeout)}
		}
	}
	return nil
}

// address is where a client connects to, for error messages.
func address(client goredis.UniversalClient) string {
	switch client := client.(type) {
	case *goredis.Client:
		if addr := client.Options().Addr; addr != viaSentinel {
			return addr
		}
		return "the master that Sentinel names"
	case *goredis.ClusterClient:
		return strings.Join(client.Options().Addrs, ", ")
	}
	return "Redis"
}

// viaSentinel is what the client library has for an address where Sentinel is asked.
const viaSentinel = "FailoverClient"
