package redis

import (
	"fmt"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

// NewShort is New with another MaxHorizon, so that there is less to wait for after a loss.
func NewShort(client goredis.UniversalClient, namespace string, maxHorizon time.Duration, o Options) (*Coordinator, error) {
	return connected{client: client, namespace: namespace, at: address(client), maxHorizon: maxHorizon}.coordinator(o)
}

// SetClocks has servers tell a time that is ahead of theirs, by their ports: the step reads the
// clock, and nothing else of a server does.
func (c *Coordinator) SetClocks(ahead map[string]time.Duration) {
	const clock = "local now = time[1] * 1e6 + time[2]\n"
	var clocks strings.Builder
	for port, d := range ahead {
		fmt.Fprintf(&clocks, "if string.find(redis.call('INFO', 'server'), 'tcp_port:%s%%s') then now = now + %d end\n", port, d.Microseconds())
	}
	before, after, found := strings.Cut(stepSource, clock)
	if !found {
		clocks.WriteString("error('the step does not read the clock as it did')")
	}
	c.store.step = goredis.NewScript(before + clock + clocks.String() + after)
}

// Commands are the rights that a user of Redis needs.
func Commands() []string { return commands }

// KeyOf is the key of a namespace.
func KeyOf(namespace string) string { return keyOf(namespace) }

// IdleConnections is how many connections of the client are in no use.
func (c *Coordinator) IdleConnections() int { return int(c.store.client.PoolStats().IdleConns) }

// ClientTimeouts are those of the client.
func (c *Coordinator) ClientTimeouts() (read, write, dial time.Duration) {
	switch client := c.store.client.(type) {
	case *goredis.Client:
		o := client.Options()
		return o.ReadTimeout, o.WriteTimeout, o.DialTimeout
	case *goredis.ClusterClient:
		o := client.Options()
		return o.ReadTimeout, o.WriteTimeout, o.DialTimeout
	}
	return 0, 0, 0
}
