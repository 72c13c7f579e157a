package segment

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Period is how long a group of numbers lasts, see [Groups].
type Period int

const (
	// Always is one group for ever, which is the tag itself.
	Always Period = iota
	// Yearly begins a group each year, as orders.2026 of the tag orders.
	Yearly
	// Monthly begins one each month, as orders.2026-11.
	Monthly
	// Daily begins one each day, as orders.2026-11-30.
	Daily
)

// endings are what the names of groups have after the tag.
var endings = [...]string{Always: "", Yearly: ".2006", Monthly: ".2006-01", Daily: ".2006-01-02"}

// GroupOf splits the name of a group, such as orders.2026-11, into the tag and the day on which the
// group is over. A year counts as over when every year that begins in it is, in whatever month that
// begins. It returns false for a name that does not end in a date.
func GroupOf(name string) (tag string, over time.Time, ok bool) {
	for p, ending := range endings {
		cut := len(name) - len(ending)
		if p == int(Always) || cut < 1 {
			continue
		}
		day, err := time.Parse(ending, name[cut:])
		if err != nil {
			continue
		}
		switch Period(p) {
		case Yearly:
			day = day.AddDate(1, 11, 0)
		case Monthly:
			day = day.AddDate(0, 1, 0)
		default:
			day = day.AddDate(0, 0, 1)
		}
		return name[:cut], day, true
	}
	return "", time.Time{}, false
}

// CheckPruned returns an error that wraps [ErrPruned] if a tag is a group that was over before a
// day, of which its store has recorded that all groups before it were removed.
func CheckPruned(name string, before time.Time) error {
	if _, over, ok := GroupOf(name); ok && !over.After(before) {
		return fmt.Errorf("%w: %q: the groups of its tag before %s were removed", ErrPruned, name,
			before.Format(time.DateOnly))
	}
	return nil
}

// first is the first day of the group that a time is in, at midnight UTC; of Always the zero time.
func (p Period) first(now time.Time) time.Time {
	year, month, day := now.Date()
	switch p {
	case Always:
		return time.Time{}
	case Yearly:
		month, day = time.January, 1
	case Monthly:
		day = 1
	}
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
}

// Groups gives out numbers of a tag that begin again at 1 each day, month or year: a number is
// unique within its group. Each group is a tag of its own in the store, named after the tag and
// the date, which the first process that needs it makes, with the step of the tag. It is safe for
// concurrent use. Make it with [NewGroups].
type Groups struct {
	store  Store
	tag    string
	period Period
	zone   *time.Location
	cfg    Config

	cur     atomic.Pointer[group] // nil: there was none
	turn    chan struct{}         // holds something while a group is opened, and after the end
	life    context.Context
	cut     context.CancelFunc
	running sync.WaitGroup // groups that are past, and give back what they hold
	closing sync.Once
	closed  error // what Close returned
}

// group is the numbers of one group.
type group struct {
	*Sequence
	day time.Time // its first one, at midnight UTC
}

// NewGroups returns the numbers of a tag in groups, by the date in a time zone; nil is UTC. The tag
// has to be in the store, which has to be a [Creator]. It does not call the store: the first number
// does, and [Groups.Ready]. Close the groups before the store. Errors wrap [ErrInvalidConfig].
//
// A store that has lost the tag of a group, in a failover or with a restored dump, has it made
// again from 1: who restores makes it above all numbers in use first, see the runbook.
func NewGroups(store Store, tag string, p Period, zone *time.Location, c Config) (*Groups, error) {
	if store == nil {
		return nil, invalid("the store is nil")
	}
	if p < Always || p > Daily {
		return nil, invalid("period is %d; Always, Yearly, Monthly and Daily are allowed", p)
	}
	cfg, err := c.resolve()
	if err = errors.Join(err, CheckTag(tag+endings[p])); err != nil {
		return nil, err
	}
	if zone == nil {
		zone = time.UTC
	}
	g := &Groups{store: store, tag: tag, period: p, zone: zone, cfg: cfg, turn: make(chan struct{}, 1)}
	g.life, g.cut = context.WithCancel(context.Background())
	return g, nil
}

// Ready waits until a number of the present group can be had, as [Sequence.Ready] does. It makes
// the group's tag if it is not there.
func (g *Groups) Ready(ctx context.Context) error {
	present, err := g.at(ctx, g.today())
	if err != nil {
		return err
	}
	return present.Sequence.Ready(ctx)
}

// today is the first day of the group that the clock is in.
func (g *Groups) today() time.Time { return g.period.first(time.Now().In(g.zone)) }

// Health returns a snapshot of the present group, as [Sequence.Health] does; ok is false if there
// is none yet.
func (g *Groups) Health() (h Health, ok bool) {
	if p := g.cur.Load(); p != nil {
		return p.Health(), true
	}
	return h, false
}

// Next returns the next number of the group that the clock is in, and the first day of that group,
// as midnight UTC whatever the zone is; of Always the zero time. If the clock steps back, the later
// group goes on. The first call in a group takes a range, and maybe makes its tag, for which all
// others wait; each waits until ctx ends, and errors are those of [New] and [Sequence.NextContext].
// Within a group, numbers rise.
func (g *Groups) Next(ctx context.Context) (day time.Time, n int64, err error) {
	today := g.today()
	for {
		present, err := g.at(ctx, today)
		if err != nil {
			return time.Time{}, 0, err
		}
		n, err := present.NextContext(ctx)
		if errors.Is(err, ErrClosed) && present != g.cur.Load() {
			continue // it is past now
		}
		return present.day, n, err
	}
}

// at returns the group that begins on a day, or the present one if that is later.
func (g *Groups) at(ctx context.Context, day time.Time) (*group, error) {
	if p := g.cur.Load(); p != nil && !day.After(p.day) {
		return p, nil
	}
	select {
	case g.turn <- struct{}{}:
	case <-g.life.Done():
		return nil, ErrClosed
	case <-ctx.Done():
		return nil, g.opening(ctx)
	}
	opened := make(chan error, 1)
	g.running.Go(func() { // whoever comes with little time has it opened for those after him
		defer func() { <-g.turn }()
		opened <- g.enter(day)
	})
	select {
	case err := <-opened:
		return g.cur.Load(), err
	case <-ctx.Done():
		return nil, g.opening(ctx)
	}
}

// opening is the error of a caller whose time was over before the group was there.
func (g *Groups) opening(ctx context.Context) error {
	return fmt.Errorf("%w: tag %q: its group is being opened: %w",
		ErrUnavailable, g.tag, context.Cause(ctx))
}

// enter makes the group that begins on a day the present one, unless that is later. Somebody has
// the turn.
func (g *Groups) enter(day time.Time) error {
	past := g.cur.Load()
	if past != nil && !day.After(past.day) {
		return nil
	}
	s, err := g.open(g.tag + day.Format(endings[g.period]))
	if err != nil {
		return err
	}
	g.cur.Store(&group{s, day})
	if past != nil {
		g.running.Go(func() { g.leave(past) })
	}
	return nil
}

// open returns the numbers of a group, whose tag it makes if it is not there.
func (g *Groups) open(name string) (*Sequence, error) {
	s, err := New(g.life, g.store, name, g.cfg)
	if g.period == Always || !errors.Is(err, ErrUnknownTag) {
		return s, err
	}
	c, creates := g.store.(Creator)
	if !creates {
		return nil, fmt.Errorf("%w; the store cannot make it, so somebody has to", err)
	}
	ctx, cancel := context.WithTimeout(g.life, g.cfg.RefillTimeout)
	defer cancel()
	t, err := g.store.Tag(ctx, g.tag)
	if err == nil {
		err = c.Create(ctx, Tag{Name: name, Next: 1, Step: t.Step, Description: t.Description})
	}
	switch {
	case err == nil || errors.Is(err, ErrTagExists):
		return New(g.life, g.store, name, g.cfg)
	case g.life.Err() != nil:
		return nil, ErrClosed
	case !refused(err):
		err = fmt.Errorf("%w: tag %q: making it: %w", ErrUnavailable, name, err)
	}
	return nil, err
}

// leave gives back what is held of a group that is past, which is lost if that does not work.
func (g *Groups) leave(past *group) {
	ctx, cancel := context.WithTimeout(context.Background(), g.cfg.RefillTimeout)
	defer cancel()
	if err := past.Close(ctx); err != nil {
		g.cfg.Logger.Warn("giving back numbers of a past group failed", "tag", past.tag, "error", err)
	}
}

// Close ends it as [Sequence.Close] does: later calls return ErrClosed, and what is unused is given
// back. A second call returns what the first did.
func (g *Groups) Close(ctx context.Context) error {
	g.closing.Do(func() {
		g.cut()
		g.turn <- struct{}{} // nobody opens a group any more
		if p := g.cur.Load(); p != nil {
			g.closed = p.Close(ctx)
		}
		g.running.Wait()
	})
	return g.closed
}
