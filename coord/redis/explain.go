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

// minMajor is the first number of the oldest server that this driver is made for.
const minMajor = 7

// hints are what errors of servers and of the client mean; the first one that is found
// in the text counts.
var hints = []struct {
	text    string
	invalid bool // whether trying again cannot help
	meaning func(s *store) string
}{
	{"WRONGPASS", true, func(s *store) string {
		return "Redis at " + s.at + " refuses the user name or the password"
	}},
	{"invalid password", true, func(s *store) string {
		return "Redis at " + s.at + " refuses the user name or the password"
	}},
	{"NOAUTH", true, func(s *store) string { return "Redis at " + s.at + " wants a password" }},
	{"unauthenticated", true, func(s *store) string {
		return "Redis at " + s.at + " wants a password"
	}},
	{"The user executing the script", true, func(s *store) string {
		return "the Redis user lacks a right; grant it " + s.rights()
	}},
	{"NOPERM", true, func(s *store) string {
		return "the Redis user lacks a right; grant it " + s.rights()
	}},
	{"READONLY", false, func(s *store) string {
		return s.at + " is a replica, which cannot lease: connect to the master, or through Sentinel, " +
			"which finds it"
	}},
	{"unknown command 'sentinel'", true, func(s *store) string {
		return "what answers at " + s.at + " is no Sentinel"
	}},
	{"unreachable: redis: nil", true, func(s *store) string {
		return "the Sentinels at " + s.at + " know no master of that name"
	}},
	{"cluster support disabled", true, func(s *store) string {
		return "the server at " + s.at + " is not part of a Cluster"
	}},
	{"DB index is out of range", true, func(s *store) string {
		return "the server at " + s.at + " has no such database"
	}},
	{"unknown command", true, func(s *store) string {
		return fmt.Sprintf("the server at %s cannot run scripts; Redis %d.0 or later is needed", s.at,
			minMajor)
	}},
	{"NOLINEAGE", true, func(*store) string {
		return "the server does not say which one it is (run_id and master_replid in INFO), so that a " +
			"loss of its data would not be noticed; use a Redis that does"
	}},
	{"WRONGTYPE", true, func(s *store) string {
		return "Redis key \"" + s.key + "\" is of another type than this program makes it; it is not " +
			"overwritten: use another namespace, or another database"
	}},
	{"can't parse", true, func(s *store) string {
		return "what answers at " + s.at + " does not speak the protocol of Redis: " + s.question()
	}},
	{"invalid reply", false, func(s *store) string {
		return "what answers at " + s.at + " does not speak the protocol of Redis: " + s.question()
	}},
	{"does not look like a TLS handshake", false, func(s *store) string {
		return s.at + " does not answer with TLS: " + s.question()
	}},
	{"EOF", false, hungUp},
	{"connection reset", false, hungUp},
	{"", false, func(s *store) string { return s.at + " cannot serve now" }},
}

// hungUp is the meaning of a connection that was closed before an answer came.
func hungUp(s *store) string {
	tls := "; if it wants TLS, the URL begins with rediss"
	if s.secure {
		tls = ""
	}
	return s.at + " closed the connection without an answer: " + s.question() + tls
}

// question is what to ask where something else may listen.
func (s *store) question() string { return drivers.Question("a Redis", s.secure) }

// explain adds what an error of the client leaves out.
func (s *store) explain(err error) error {
	var network net.Error
	switch {
	case errors.Is(err, coord.ErrClosed), errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		if s.secure {
			return fmt.Errorf("no answer from %s in time (%s): %w", s.at, s.question(), err)
		}
		return fmt.Errorf("no answer from %s in time: %w", s.at, err)
	}
	for _, h := range hints {
		switch {
		case !strings.Contains(err.Error(), h.text):
		case h.invalid:
			return fmt.Errorf("%w: %s: %w", coord.ErrInvalid, h.meaning(s), err)
		default:
			return fmt.Errorf("%s: %w", h.meaning(s), err)
		}
	}
	return err
}

// rights is what a user of Redis needs, as ACL SETUSER takes it.
func (s *store) rights() string { return "~" + s.key + " " + strings.Join(commands, " ") }

// commands are what the script needs of Redis, what runs it, and what the client
// calls by itself: select for a database other than 0; in a Cluster cluster|slots, and
// command, which it would otherwise send again with each call.
var commands = []string{
	"+select", "+cluster|slots", "+command",
	"+evalsha", "+eval", "+time", "+info", "+hget", "+hmget", "+hset", "+hdel", "+hlen", "+hkeys",
}
