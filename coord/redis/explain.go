package redis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/drivers"
	"github.com/unalike-id/unalike/internal/invalid"
)

// minMajor is the first number of the oldest server that this driver is made for.
const minMajor = 7

// meaning is what errors mean that have a text.
type meaning struct {
	text    string
	invalid bool // whether trying again cannot help
	says    string
}

// meanings are those of errors of servers and of the client; the first one that is found in the
// text counts. What they say has words in braces, see explain.
var meanings = []meaning{
	{"WRONGPASS", true, wrongLogin},
	{"invalid password", true, wrongLogin},
	{"NOAUTH", true, noLogin},
	{"unauthenticated", true, noLogin},
	{"The user executing the script", true, noRight},
	{"NOPERM", true, noRight},
	{"READONLY", false, "{at} is a replica, which cannot lease: connect to the master, or through " +
		"Sentinel, which finds it"},
	{"TRYAGAIN", false, "{at} is moving the namespace to another node of the Cluster"},
	{"unknown command 'sentinel'", true, "what answers at {at} is no Sentinel"},
	{"unreachable: redis: nil", true, "the Sentinels at {at} know no master of that name"},
	{"cluster support disabled", true, "the server at {at} is not part of a Cluster"},
	{"DB index is out of range", true, "the server at {at} has no such database"},
	{"unknown command", true, noCommand},
	{"Unknown Redis command called from", true, noCommand},
	{"Error compiling script", true, "the server at {at} does not run scripts as Redis 7.0 and " +
		"later do; use a real one"},
	{"NOLINEAGE", true, "the server does not say which one it is (run_id and master_replid " +
		"in INFO), so that a loss of its data would not be noticed; use a Redis that does"},
	{"WRONGTYPE", true, `Redis key "{key}" is of another type than this program makes it; it is not ` +
		"overwritten: use another namespace, or another database"},
	{"can't parse", false, foreign},
	{"invalid reply", false, foreign},
	{"does not look like a TLS handshake", false, "{at} does not answer with TLS: {question}"},
	{"EOF", false, hungUp},
	{"connection reset", false, hungUp},
	{"", false, "{at} cannot serve now"},
}

const (
	wrongLogin = "Redis at {at} refuses the user name or the password"
	noLogin    = "Redis at {at} wants a password"
	noCommand  = "the server at {at} has no command {command}; use Redis 7.0 or later, with no " +
		"command that the script needs renamed or disabled"
	noRight = "the Redis user lacks a right; grant it {rights}"
	foreign = "what answers at {at} does not speak the protocol of Redis: {question}"
	hungUp  = "{at} closed the connection without an answer: {question}{tls}"
)

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
	i := slices.IndexFunc(meanings, func(m meaning) bool {
		return strings.Contains(err.Error(), m.text)
	})
	tls := "; if it wants TLS, the URL begins with rediss"
	if s.secure {
		tls = ""
	}
	says := strings.NewReplacer("{at}", s.at, "{key}", keyOf(s.namespace), "{rights}", s.rights(),
		"{question}", s.question(), "{tls}", tls, "{command}", commandOf(err.Error()),
	).Replace(meanings[i].says)
	if meanings[i].invalid {
		return invalid.Errorf("%s: %w", says, err)
	}
	return fmt.Errorf("%s: %w", says, err)
}

var (
	unknownCommand = regexp.MustCompile("unknown command '([^']*)'")
	scriptLine     = regexp.MustCompile(`user_script:\s*([0-9]+)`)
	calledCommand  = regexp.MustCompile(`redis\.call\('([A-Z]+)'`)
)

// commandOf is the command that a server does not have, which it names itself, or names the line of
// the script that calls it.
func commandOf(says string) string {
	if named := unknownCommand.FindStringSubmatch(says); named != nil {
		return strings.ToUpper(named[1])
	}
	if at := scriptLine.FindStringSubmatch(says); at != nil {
		lines := strings.Split(stepSource, "\n")
		if n, err := strconv.Atoi(at[1]); err == nil && 0 < n && n <= len(lines) {
			if called := calledCommand.FindStringSubmatch(lines[n-1]); called != nil {
				return called[1]
			}
		}
	}
	return "that the script calls"
}

// rights is what a user of Redis needs, as ACL SETUSER takes it.
func (s *store) rights() string {
	return "~" + keysOf(s.namespace) + "* " + strings.Join(commands, " ")
}

// commands are what the script needs of Redis, what runs it, and what the client
// calls by itself: select for a database other than 0; in a Cluster cluster|slots, and
// command, which it would otherwise send again with each call.
var commands = []string{
	"+select", "+cluster|slots", "+command",
	"+evalsha", "+eval", "+time", "+info", "+hget", "+hmget", "+hset", "+hdel", "+hlen", "+hkeys",
	"+set", "+del", "+pttl",
}
