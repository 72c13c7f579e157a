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
	most      int       // it refuses to give more; 0: it has not refused
	quick     bool      // it answered the last request within quickTime
	said      string    // its layout and nonce, as it said last; empty: not known yet
	heard     time.Time // when that was
	// until then another one is asked if there is one; zero: it had IDs when it was asked last
	rests  time.Time
	after  time.Time // before that it is not asked at all: it has said so itself
	failed error     // what it has said then
	round  uint64    // the last one in which it was asked
}

// result is how a fetch has ended. The lock is held by whoever reads or writes err.
type result struct {
	ended chan struct{} // closed then
	err   error         // of the last round of all servers; nil: it succeeded, or none has ended
}

// fetch asks for IDs in the background unless that is under way, or was refused a moment ago. The
// lock is held.
func (c *Client) fetch() {
	now := time.Now() //nolint:forbidigo // when to ask is no matter of IDs
	if c.fetching || c.closed || c.reserve != nil || now.Before(c.again) {
		return
	}
	c.fetching, c.count, c.last = true, c.wanted(now), &result{ended: make(chan struct{})}
	if !c.working {
		c.working = true
		c.running.Go(c.work)
	}
}

// wanted returns how many IDs to ask for: as many as were used in the last MaxAge and half as many
// again, within bounds. Callers who use them up sooner than a request is answered have twice as
// many as Prefetch. The lock is held.
func (c *Client) wanted(now time.Time) int {
	if c.last == nil {
		c.mark.at = now
		return min(firstPrefetch, c.o.Prefetch)
	}
	count := max(c.used(now)*3/2, leastPrefetch)
	if c.short {
		count = max(count, firstPrefetch)
	}
	switch {
	case count < int64(c.o.Prefetch): //mutant:client-slow
		return int(count)
	case c.short:
		return min(2*c.o.Prefetch, maxPrefetch)
	}
	return c.o.Prefetch
}

// used returns how many IDs callers had in the last MaxAge, or in up to twice that time. The lock
// is held.
func (c *Client) used(now time.Time) int64 {
	total := c.taken
	if c.stock != nil {
		total += c.stock.taken()
	}
	if passed := now.Sub(c.mark.at); passed >= c.o.MaxAge {
		if c.mark.before = 0; passed < 2*c.o.MaxAge {
			c.mark.before = total - c.mark.total
		}
		c.mark.at, c.mark.total = now, total
	}
	return c.mark.before + total - c.mark.total
}

// mark is what callers have had so far at a time, and in the MaxAge before it.
type mark struct {
	at            time.Time
	total, before int64
}

// work asks for IDs until there are some, and goes on if more have been asked for by then: a new
// goroutine would have to grow its stack again.
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

// round asks all servers, and reports whether the fetch has ended, and whether another one has
// begun.
func (c *Client) round() (done, again bool) {
	got, final, err := c.askAll()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last.err = err
	done = final || c.closed
	if done {
		c.rest(err)
		c.fetching = false
		close(c.last.ended)
	}
	if got != nil && !c.closed {
		c.store(got) // which may begin the next fetch
	}
	c.working = !done || c.fetching
	return done, done && c.fetching
}

// rest has the next fetch wait after one that was refused: longer after each, as nothing of that
// passes soon. A single server of another namespace says nothing about the others. The lock is
// held.
func (c *Client) rest(err error) {
	if err == nil {
		c.refusals, c.again = 0, time.Time{}
		return
	}
	if c.refusals++; c.refusals > 1 || !errors.Is(err, ErrMixed) {
		//nolint:forbidigo // when to ask is no matter of IDs
		//mutant:client-rests
		c.again = time.Now().Add(min(refusedPause<<min(c.refusals-1, 10), mostPause))
	}
}

// askAll asks one server after the other until one has IDs, and reports whether the result is
// final. One that refuses may be set up wrongly, as with a token that it does not know, or allow
// less: it has no say while another one may answer.
func (c *Client) askAll() (got *batch, final bool, err error) {
	var all []error
	final = true
	c.rounds++
	for range c.servers {
		e := c.pick(len(all) > 0)
		got, err := c.askUnless(e)
		if err == nil || c.life.Err() != nil {
			return got, err == nil, err
		}
		if errors.Is(err, ErrMixed) {
			return nil, true, err
		}
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

// askUnless asks one server unless it has said to be left alone: then it says what it has said.
func (c *Client) askUnless(e *endpoint) (*batch, error) {
	now := time.Now() //nolint:forbidigo // whom to ask is no matter of IDs
	//mutant:client-retry-after
	if now.Before(e.after) {
		return nil, e.failed
	}
	e.rests = time.Time{}
	b, err := c.ask(e)
	if err == nil || c.life.Err() != nil {
		return b, err
	}
	err = fmt.Errorf("%s: %w", e.host, err)
	if errors.Is(err, ErrMixed) {
		return nil, err
	}
	now = time.Now() //nolint:forbidigo // the same
	e.rests, e.failed = now.Add(restTime), err
	if l, ok := errors.AsType[later](err); ok {
		e.after = now.Add(min(l.wait, mostWait))
	}
	return nil, err
}

// pick returns the server whose turn it is, and none twice in a round. One that has failed a moment
// ago is left out while there is another: it may answer nothing at all, and every attempt would
// take all of requestTime. So is one whose last request failed, however long ago, or that has never
// answered, when the round has had such a wait.
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
		case now.Before(e.after):
			rank = 4
		case now.Before(e.rests):
			rank = 3
		case waited && (!e.rests.IsZero() || e.said == ""):
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
