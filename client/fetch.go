package client

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// endpoint is one server. Only one fetch uses it at a time.
type endpoint struct {
	url, host string
	small     bool      // it refuses to give more than Options.Prefetch
	quick     bool      // it answered the last request within quickTime
	said      string    // its layout and nonce, as it said last; empty: not known yet
	rests     time.Time // until then another one is asked if there is one; zero: it had IDs when it was asked last
	round     uint64    // the last one in which it was asked
}

// result is how a fetch has ended. The lock is held by whoever reads or writes err.
type result struct {
	ended chan struct{} // closed then
	err   error         // of the last round of all servers; nil: it succeeded, or none has ended
}

// fetch asks for IDs in the background unless that is under way. The lock is held.
func (c *Client) fetch() {
	if c.fetching || c.closed || c.spare != nil {
		return
	}
	c.fetching, c.count, c.last = true, c.o.Prefetch, &result{ended: make(chan struct{})}
	if c.short {
		c.count = min(2*c.o.Prefetch, maxPrefetch)
	}
	if !c.working {
		c.working = true
		c.running.Go(c.work)
	}
}

// work asks for IDs until there are some, and goes on if more have been asked for by then: a new goroutine would have to
// grow its stack again.
func (c *Client) work() {
	pause := firstPause
	for {
		done, again := c.round()
		switch {
		case again:
			pause = firstPause
			continue
		case done:
			return
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-c.life.Done():
			timer.Stop()
		}
		pause = min(2*pause, mostPause)
	}
}

// round asks all servers, and reports whether the fetch has ended, and whether another one has begun.
func (c *Client) round() (done, again bool) {
	got, final, err := c.askAll()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last.err = err
	done = final || c.closed
	if done {
		c.fetching = false
		close(c.last.ended)
	}
	if got != nil && !c.closed {
		c.store(got) // which may begin the next fetch
	}
	c.working = !done || c.fetching
	return done, done && c.fetching
}

// askAll asks one server after the other until one has IDs, and reports whether the result is final. One that refuses may
// be set up wrongly, as with a token that it does not know, or allow less: it has no say while another one may answer.
func (c *Client) askAll() (got *batch, final bool, err error) {
	var all []error
	final = true
	c.rounds++
	for range c.servers {
		e := c.pick(len(all) > 0)
		e.rests = time.Time{}
		got, err := c.ask(e)
		if err == nil || c.life.Err() != nil {
			return got, err == nil, err
		}
		err = fmt.Errorf("%s: %w", e.host, err)
		if errors.Is(err, ErrMixed) {
			return nil, true, err
		}
		e.rests = time.Now().Add(restTime) //nolint:forbidigo // whom to ask is no matter of IDs
		final = final && errors.Is(err, ErrRefused)
		all = append(all, err)
	}
	for i, err := range all {
		if !final && errors.Is(err, ErrRefused) {
			all[i] = errors.New(err.Error()) // the whole is no refusal
		}
	}
	return nil, final, errors.Join(all...)
}

// pick returns the server whose turn it is, and none twice in a round. One that has failed a moment ago is left out while
// there is another: it may answer nothing at all, and every attempt would take all of requestTime. So is one whose last
// request failed, however long ago, when the round has had such a wait.
func (c *Client) pick(waited bool) *endpoint {
	now := time.Now() //nolint:forbidigo // whom to ask is no matter of IDs
	var next *endpoint
	least := 0
	for i := range c.servers {
		e := c.servers[(c.turn+i)%len(c.servers)]
		rank := 1
		switch {
		case e.round == c.rounds:
			continue
		case now.Before(e.rests):
			rank = 3
		case waited && !e.rests.IsZero():
			rank = 2
		}
		if next == nil || rank < least {
			next, least = e, rank
		}
	}
	next.round = c.rounds
	c.turn = slices.Index(c.servers, next) + 1
	return next
}
