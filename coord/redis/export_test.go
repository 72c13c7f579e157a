package redis

import (
	"time"

	goredis "github.com/redis/go-redis/v9"
)

// SetMaxHorizon shortens what a test has to wait for after a loss. It is for before
// the coordinator is used.
func (c *Coordinator) SetMaxHorizon(d time.Duration) { c.maxHorizon = d }

// Commands are the rights that a user of Redis needs.
func Commands() []string { return commands }

// SetSkewBound sets a skew bound that is too short for anything but a test.
func (c *Coordinator) SetSkewBound(d time.Duration) { c.opts.SkewBound = d }

// IdleConnections is how many connections of the client are in no use.
func (c *Coordinator) IdleConnections() int { return int(c.client.PoolStats().IdleConns) }

// ClientTimeouts are those of the client.
func (c *Coordinator) ClientTimeouts() (read, write, dial time.Duration) {
	switch client := c.client.(type) {
	case *goredis.Client:
		o := client.Options()
		return o.ReadTimeout, o.WriteTimeout, o.DialTimeout
	case *goredis.ClusterClient:
		o := client.Options()
		return o.ReadTimeout, o.WriteTimeout, o.DialTimeout
	}
	return 0, 0, 0
}
