package redis

import (
	"context"
	"errors"
	"fmt"
	"strings"

	goredis "github.com/redis/go-redis/v9"

	"github.com/unalike-id/unalike/coord"
)

// minVersion is the oldest server that this driver is made for. The scripts compare
// with its first number.
const minVersion = "7.0"

// explain adds what an error of the client leaves out.
func (c *Coordinator) explain(err error) error {
	at := c.at
	switch {
	case errors.Is(err, coord.ErrClosed), errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("no answer from %s in time: %w", at, err)
	case goredis.HasErrorPrefix(err, "WRONGPASS"):
		return fmt.Errorf("%w: Redis at %s refuses the user name or the password: %w", coord.ErrInvalid, at, err)
	case goredis.HasErrorPrefix(err, "NOAUTH"):
		return fmt.Errorf("%w: Redis at %s wants a password: %w", coord.ErrInvalid, at, err)
	case goredis.HasErrorPrefix(err, "NOPERM"):
		return fmt.Errorf("%w: the Redis user lacks a right; grant it %s: %w", coord.ErrInvalid, c.rights(), err)
	case goredis.HasErrorPrefix(err, "READONLY"):
		return fmt.Errorf("%s is a replica, which cannot lease: connect to the master, or through Sentinel, which finds it: %w", at, err)
	case goredis.HasErrorPrefix(err, "unknown command"):
		return fmt.Errorf("%w: the server at %s cannot run scripts; Redis %s or later is needed: %w", coord.ErrInvalid, at, minVersion, err)
	case strings.Contains(err.Error(), "can't parse"):
		return fmt.Errorf("%w: what answers at %s does not speak the protocol of Redis: %w", coord.ErrInvalid, at, err)
	}
	return fmt.Errorf("%s cannot serve now: %w", at, err)
}

