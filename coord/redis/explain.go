package redis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/drivers"
)

// minVersion is the oldest server that this driver is made for. The scripts compare
// with its first number.
const minVersion = "7.0"

// hints are what errors of servers and of the client mean; the first one that is found
// in the text counts.
var hints = []struct {
	text    string
	invalid bool // whether trying again cannot help
	meaning func(c *Coordinator) string
}{
	{"WRONGPASS", true, func(c *Coordinator) string { return "Redis at " + c.at + " refuses the user name or the password" }},
	{"invalid password", true, func(c *Coordinator) string { return "Redis at " + c.at + " refuses the user name or the password" }},
	{"NOAUTH", true, func(c *Coordinator) string { return "Redis at " + c.at + " wants a password" }},
	{"unauthenticated", true, func(c *Coordinator) string { return "Redis at " + c.at + " wants a password" }},
	{"NOPERM", true, func(c *Coordinator) string { return "the Redis user lacks a right; grant it " + c.rights() }},
	{"READONLY", false, func(c *Coordinator) string {
		return c.at + " is a replica, which cannot lease: connect to the master, or through Sentinel, which finds it"
	}},
	{"unknown command 'sentinel'", true, func(c *Coordinator) string { return "what answers at " + c.at + " is no Sentinel" }},
	{"unreachable: redis: nil", true, func(c *Coordinator) string { return "the Sentinels at " + c.at + " know no master of that name" }},
	{"cluster support disabled", true, func(c *Coordinator) string { return "the server at " + c.at + " is not part of a Cluster" }},
	{"DB index is out of range", true, func(c *Coordinator) string { return "the server at " + c.at + " has no such database" }},
	{"unknown command", true, func(c *Coordinator) string {
		return "the server at " + c.at + " cannot run scripts; Redis " + minVersion + " or later is needed"
	}},
	{"can't parse", true, func(c *Coordinator) string {
		return "what answers at " + c.at + " does not speak the protocol of Redis: " + c.question()
	}},
	{"invalid reply", false, func(c *Coordinator) string {
		return "what answers at " + c.at + " does not speak the protocol of Redis: " + c.question()
	}},
	{"does not look like a TLS handshake", false, func(c *Coordinator) string { return c.at + " does not answer with TLS: " + c.question() }},
	{"EOF", false, hungUp},
	{"connection reset", false, hungUp},
	{"", false, func(c *Coordinator) string { return c.at + " cannot serve now" }},
}

// hungUp is the meaning of a connection that was closed before an answer came.
func hungUp(c *Coordinator) string {
	tls := "; if it wants TLS, the URL begins with rediss"
	if c.secure {
		tls = ""
	}
	return c.at + " closed the connection without an answer: " + c.question() + tls
}

// question is what to ask where something else may listen.
func (c *Coordinator) question() string { return drivers.Question("a Redis", c.secure) }

// explain adds what an error of the client leaves out.
func (c *Coordinator) explain(err error) error {
	var network net.Error
	switch {
	case errors.Is(err, coord.ErrClosed), errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		if c.secure {
			return fmt.Errorf("no answer from %s in time (%s): %w", c.at, c.question(), err)
		}
		return fmt.Errorf("no answer from %s in time: %w", c.at, err)
	}
	for _, h := range hints {
		switch {
		case !strings.Contains(err.Error(), h.text):
		case h.invalid:
			return fmt.Errorf("%w: %s: %w", coord.ErrInvalid, h.meaning(c), err)
		default:
			return fmt.Errorf("%s: %w", h.meaning(c), err)
		}
	}
	return err
}
