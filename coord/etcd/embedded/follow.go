package embedded

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/filelock"
)

const (
	// nowhere is the client's endpoint while the server's is not known: port 0, where
	// nobody listens.
	nowhere = "http://127.0.0.1:0"

	// lookEvery is how often a process looks whether its server is gone. It costs three
	// system calls, and a tenth of a second is nothing against a window.
	lookEvery = 100 * time.Millisecond
	// retryMost bounds the pause after servers that did not start, one after another.
	retryMost = 5 * time.Second
	// startTime bounds New: a host that hangs does not come back by waiting.
	startTime = 30 * time.Second
	// firstAnswer bounds one question whether the server answers.
	firstAnswer = time.Second
)

// start finds or starts the server and returns when it answers.
func (c *coordinator) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	pause := time.NewTicker(lookEvery / 4)
	defer pause.Stop()
	holder := post{PID: os.Getpid()}.process()
	for {
		// What cannot work now is an error here; later, somebody may mend it.
		held, err := c.look(ctx)
		if err != nil {
			return err
		}
		if held != nil {
			holder = held.Holder()
		}
		if c.host.Load() != nil && c.answers(ctx) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("embed: folder %s: its etcd belongs to %s, which does not answer; end that "+
				"process: %w", c.folder.path, holder, context.Cause(ctx))
		case <-pause.C:
		}
	}
}

// answers asks the server for something that costs little and needs all of it.
func (c *coordinator) answers(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, firstAnswer)
	defer cancel()
	_, err := c.client.Get(ctx, "unalike")
	return err == nil
}

// follow keeps the client's endpoint that of the server, and starts the server when
// nobody runs it, until ctx ends.
func (c *coordinator) follow(ctx context.Context) {
	wait := lookEvery
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		_, err := c.look(ctx)
		if c.trouble.Store(&err); err != nil {
			if wait == lookEvery && ctx.Err() == nil {
				c.log.Error("the embedded etcd does not run and cannot be started; trying again", "folder",
					c.folder.path, "error", err)
			}
			wait = min(2*wait, retryMost)
		} else {
			wait = lookEvery
		}
		timer.Reset(wait)
	}
}

// look ends a server of this process that failed; starts one if nobody else runs one;
// and else notes where it is. It tells who has the folder if that is not this
// coordinator.
func (c *coordinator) look(ctx context.Context) (*filelock.HeldError, error) {
	if c.server != nil {
		err := c.server.failed()
		if err == nil {
			return nil, nil
		}
		c.log.Error("the embedded etcd has failed", "folder", c.folder.path, "error", err)
		c.trouble.Store(&err) // ending it may take a while
		c.turnTo(nil)
		if stuck := c.server.stop(); stuck != nil {
			c.stuck = errors.Join(err, stuck)
		}
		c.server = nil
	}
	if c.stuck != nil {
		return nil, c.stuck
	}
	lock, err := c.folder.lock()
	var held *filelock.HeldError
	if errors.As(err, &held) {
		if p := c.folder.readPost(); p != nil {
			c.turnTo(p)
		}
		return held, nil
	}
	if err != nil {
		return nil, err
	}
	s, err := host(ctx, c.folder, lock)
	if err != nil {
		if errors.Is(err, errStuck) {
			c.stuck = err
		}
		return nil, err
	}
	c.server = s
	c.turnTo(&s.post)
	c.log.Info("the embedded etcd runs in this process", "folder", c.folder.path, "address",
		s.post.Address)
	return nil, nil
}

// turnTo makes the client talk to the server that p names; nil: to nobody.
func (c *coordinator) turnTo(p *post) {
	old, endpoint := c.host.Load(), nowhere
	switch {
	case old == nil && p == nil, old != nil && p != nil && *old == *p:
		return
	case p != nil:
		c.secret.set(p.Folder)
		endpoint = p.endpoint()
	}
	c.client.SetEndpoints(endpoint)
	c.host.Store(p)
}

// lock takes the folder's lock, in a folder that it makes if somebody deleted it.
func (f folder) lock() (*filelock.File, error) {
	l, err := filelock.Lock(f.file(nameLock))
	if errors.Is(err, fs.ErrNotExist) {
		if err := f.prepare(); err != nil {
			return nil, err
		}
		l, err = filelock.Lock(f.file(nameLock))
	}
	var held *filelock.HeldError
	switch {
	case err == nil:
		if err := os.Chmod(f.file(nameLock), 0o600); err != nil { // it is made for everybody to read
			l.Unlock()
			return nil, f.fail("lock it", err)
		}
		return l, nil
	case errors.As(err, &held):
		return nil, err
	case errors.Is(err, filelock.ErrUnsupported):
		return nil, fmt.Errorf("%w folder %s: %w", coord.ErrInvalid, f.path, err)
	}
	return nil, f.fail("lock it", err)
}
