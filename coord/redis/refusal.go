package redis

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/protocol"
)

// refusal returns the error that a script's reply stands for; nil if it is none.
func (c *Coordinator) refusal(r reply) error {
	translate, known := refusals[r.status()]
	switch {
	case r.status() == "OK":
		return nil
	case !known:
		return errReply
	}
	return translate(c, r)
}

// refusals are the replies with which a script stops.
var refusals = map[string]func(*Coordinator, reply) error{
	"FULL": func(c *Coordinator, r reply) error {
		v, err := r.ints(1, 4)
		if err != nil {
			return err
		}
		full := &coord.NoWorkerIDError{Namespace: c.namespace, Capacity: int(v[0]), InUse: int(v[1])}
		if v[2] != 0 {
			full.Soonest = protocol.Time(v[2])
		}
		if v[3] > 0 {
			full.LastSeen = protocol.Time(v[3])
		}
		return full
	},
	"LAYOUT": func(c *Coordinator, r reply) error {
		stored, err := r.text(1)
		if err != nil {
			return err
		}
		return &coord.LayoutMismatchError{Namespace: c.namespace, Stored: stored}
	},
	"SKEW": func(c *Coordinator, r reply) error {
		v, err := r.ints(1, 1)
		if err != nil {
			return err
		}
		return &coord.ClockSkewError{Reference: protocol.Time(v[0]), Max: c.opts.SkewBound}
	},
	"QUARANTINED": func(c *Coordinator, r reply) error {
		v, err1 := r.ints(1, 1)
		scale, err2 := r.scale(2)
		if err := errors.Join(err1, err2); err != nil {
			return err
		}
		return &coord.QuarantinedError{Namespace: c.namespace, Until: protocol.Time(scale.Micro(v[0] + 1))}
	},
	"LOST": func(_ *Coordinator, r reply) error {
		why, err := r.text(1)
		if err != nil {
			return err
		}
		return lost(why, r)
	},
	"DAMAGED": func(c *Coordinator, r reply) error {
		field, err1 := r.text(1)
		why, err2 := r.text(2)
		if err := errors.Join(err1, err2); err != nil {
			return err
		}
		return c.damaged(field, why)
	},
	"FOREIGN": func(_ *Coordinator, r reply) error {
		key, err := r.text(1)
		if err != nil {
			return err
		}
		return fmt.Errorf("%w Redis key %q: it is of another type than this program makes it; it is not overwritten: use another namespace, or another database", coord.ErrInvalid, key)
	},
	"DENIED": func(c *Coordinator, r reply) error {
		command, err := r.text(1)
		if err != nil {
			return err
		}
		return fmt.Errorf("%w: the Redis user may not run %s on the keys %s* from a script; grant it %s", coord.ErrInvalid, command, keyPrefix(c.namespace), c.rights())
	},
	"VERSION": func(_ *Coordinator, r reply) error {
		version, err := r.text(1)
		if err != nil {
			return err
		}
		return fmt.Errorf("%w: the Redis server has version %s; at least %s is needed", coord.ErrInvalid, version, minVersion)
	},
	"LINEAGE": func(*Coordinator, reply) error {
		return fmt.Errorf("%w: the server does not say which one it is (run_id and master_replid in INFO), so that a loss of its data would not be noticed; use a Redis that does", coord.ErrInvalid)
	},
	"EVICTS": func(_ *Coordinator, r reply) error {
		policy, err := r.text(1)
		if err != nil {
			return err
		}
		return fmt.Errorf("%w: the Redis server has maxmemory-policy %s, with which it may throw away a namespace when its memory is full; set it to noeviction", coord.ErrInvalid, policy)
	},
	"SCALE": func(_ *Coordinator, r reply) error {
		epoch, err1 := r.text(1)
		unit, err2 := r.text(2)
		if err := errors.Join(err1, err2); err != nil {
			return err
		}
		return fmt.Errorf("%w: Request.Scale is not that of the namespace, which has the same layout, epoch %s and unit %s in microseconds", coord.ErrInvalid, epoch, unit)
	},
	"AHEAD": func(_ *Coordinator, r reply) error {
		v, err := r.ints(1, 2)
		if err != nil {
			return err
		}
		return fmt.Errorf("%w: the window of worker ID %d ends at tick %d, further ahead than any holder can have pushed it; the server's clock was set back, or was ahead before; retire the worker ID, or set the clock", coord.ErrInvalid, v[0], v[1])
	},
	"SPENT": func(_ *Coordinator, r reply) error {
		v, err := r.ints(1, 2)
		if err != nil {
			return err
		}
		return fmt.Errorf("%w: the window of worker ID %d opens after tick %d, and the layout ends before that", coord.ErrInvalid, v[0], v[1])
	},
	"CLOSED": func(*Coordinator, reply) error { return coord.ErrNamespaceClosed },
	"OTHER": func(c *Coordinator, r reply) error {
		text, err := r.text(1)
		if err != nil {
			return err
		}
		if _, err = protocol.Decode[protocol.Meta]([]byte(text)); err == nil {
			err = errors.New("it is of a version that namespaces in Redis do not have; update this program, if a later one has made it")
		}
		return fmt.Errorf("%w Redis key %q, field \"meta\": %w", coord.ErrInvalid, slotsKey(c.namespace), err)
	},
	"NONE": func(*Coordinator, reply) error {
		return fmt.Errorf("%w: there is no such namespace; if it was lost, do nothing: whoever uses it first has it quarantined; declare it with Init only if it is new", coord.ErrInvalid)
	},
	"NOTNEW": func(*Coordinator, reply) error {
		return fmt.Errorf("%w: the namespace is not new: worker IDs were granted in it; use another namespace", coord.ErrInvalid)
	},
	"RANGE": func(_ *Coordinator, r reply) error {
		v, err := r.ints(1, 1)
		if err != nil {
			return err
		}
		return fmt.Errorf("%w: the layout has worker IDs 0 to %d", coord.ErrInvalid, v[0])
	},
	"BEYOND": func(_ *Coordinator, r reply) error {
		v, err1 := r.ints(1, 1)
		scale, err2 := r.scale(2)
		if err := errors.Join(err1, err2); err != nil {
			return err
		}
		return fmt.Errorf("%w: the floor would lie after the end of the layout, which is at %s", coord.ErrInvalid, protocol.Time(scale.Micro(v[0])).Format(time.RFC3339Nano))
	},
}

// damaged is the error of a value that this driver cannot have written.
func (c *Coordinator) damaged(field, why string) error {
	return fmt.Errorf("%w Redis key %q, field %q: %s; it is not overwritten: restore it from a backup, or use another namespace", coord.ErrInvalid, slotsKey(c.namespace), field, why)
}

// lost is the error of a grant whose slot is somebody else's.
func lost(why string, r reply) error {
	switch why {
	case "":
		return fmt.Errorf("%w: the namespace is not there", coord.ErrLeaseLost)
	case "retired":
		return fmt.Errorf("%w: the worker ID was retired", coord.ErrLeaseLost)
	case "free":
		return fmt.Errorf("%w: it was released, or never granted", coord.ErrLeaseLost)
	case "passed":
		return fmt.Errorf("%w: another holder has had it since, and has released it", coord.ErrLeaseLost)
	}
	if why == "copied" {
		until, err := r.ints(2, 1)
		if err != nil {
			return err
		}
		return &protocol.CopiedError{Until: until[0]}
	}
	var parts [3]string
	for i := range parts {
		parts[i], _ = r.text(i + 2)
	}
	return fmt.Errorf("%w: %q has it since %q, with generation %s", coord.ErrLeaseLost, parts[0], parts[1], parts[2])
}

// rights is what a user of Redis needs, as ACL SETUSER takes it.
func (c *Coordinator) rights() string {
	return "~" + keyPrefix(c.namespace) + "* " + strings.Join(commands, " ")
}

// commands are what the scripts need of Redis, what runs them, and what the client
// calls by itself: select for a database other than 0; in a Cluster cluster|slots, and
// command, which it would otherwise send again with each call.
var commands = []string{
	"+select", "+cluster|slots", "+command",
	"+evalsha", "+eval", "+time", "+info", "+exists", "+set", "+del", "+pttl",
	"+hget", "+hset", "+hdel", "+hkeys", "+zadd", "+zrem", "+zcard", "+zrange", "+zcount",
}
