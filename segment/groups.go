package segment

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

const (
	// mostApart is how far the clock may differ from that of the store when a group is opened.
	mostApart = 24 * time.Hour
	// doubtEvery is how often the clocks are compared while they differ.
	doubtEvery = time.Second
	// doubtEnds is how long a clock that has gained too much is doubted. The monotonic clock stands
	// still while a machine sleeps, so that a clock can be right though it has gained days on it.
	doubtEnds = 10 * time.Minute
)

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

	now     func() time.Time
	cur     atomic.Pointer[group] // nil: there was none
	doubt   atomic.Pointer[doubt] // of the clock; nil: there is none
	turn    chan struct{}         // holds something while a group is opened, and after the end
	life    context.Context
	cut     context.CancelFunc
	tidy    context.Context // of giving numbers back; ends when Close has no more time
	cutTidy context.CancelFunc
	closing sync.Once
	closed  error // what Close returned

	mu      sync.Mutex     // held while life ends, so that no call begins after Close
	running sync.WaitGroup // everything that uses the store beside the present group
}

// group is the numbers of one group.
type group struct {
	*Sequence
	day    time.Time // its first one, at midnight UTC
	clock  time.Time // when it was opened
	opened time.Time // the same, with a monotonic reading
}

// doubt is that the clock is wrong, so that no later group is opened.
type doubt struct {
	err     error
	since   time.Time
	checked time.Time
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
	g := &Groups{
		store: store, tag: tag, period: p, zone: zone, cfg: cfg.of(tag), now: time.Now,
		turn: make(chan struct{}, 1),
	}
	g.life, g.cut = context.WithCancel(context.Background())
	g.tidy, g.cutTidy = context.WithCancel(context.Background())
	return g, nil
}

// Ready waits until a number of the present group can be had, as [Sequence.Ready] does. It makes
// the group's tag if it is not there.
func (g *Groups) Ready(ctx context.Context) error {
	present, err := g.at(ctx, g.now())
	if err != nil {
		return err
	}
	return present.Sequence.Ready(ctx)
}

// dayOf is the first day of the group that a time is in. A year is named after the one in which it
// begins.
func (g *Groups) dayOf(now time.Time) time.Time {
	if g.period == Yearly && g.cfg.YearStart > now.Month() {
		now = now.AddDate(0, 0, -now.YearDay()) // in the year before
	}
	return g.period.first(now)
}

// Health returns a snapshot of the present group, as [Sequence.Health] does; ok is false if there
// is none yet. A group that is not opened because the clock is in doubt is a warning.
func (g *Groups) Health() (h Health, ok bool) {
	p := g.cur.Load()
	if p == nil {
		return h, false
	}
	h = p.Health()
	if d := g.doubted(p, g.dayOf(g.now().In(g.zone))); d != nil {
		h.Warnings = append(slices.Clip(h.Warnings), d.err.Error())
	}
	return h, true
}

// Room returns how many numbers up to most are left in the group that the clock is in, as far as
// this process knows. It does not call the store.
func (g *Groups) Room(most int64) int64 {
	p := g.cur.Load()
	if p == nil || g.dayOf(g.now().In(g.zone)).After(p.day) {
		return most
	}
	return max(0, most-p.last())
}

// FillText fills dst with new numbers of the group that the clock is in, written in a format. It
// waits until ctx ends, and returns how many it wrote. The error for fewer than len(dst) is one of
// [Groups.Next] and [Format.Text]. If the format has no room for all of them, FillText takes no
// number and returns [ErrExhausted].
func (g *Groups) FillText(ctx context.Context, f Format, dst []string) (int, error) {
	if room := g.Room(f.Most()); room < int64(len(dst)) { //mutant:format-room
		return 0, fmt.Errorf("%w: tag %q: format %q has room for %d more numbers, and %d are asked for; "+
			"write them with more digits", ErrExhausted, g.tag, f, room, len(dst))
	}
	return f.fill(dst, func() (time.Time, int64, error) { return g.Next(ctx) })
}

// FillTextOn is FillText for the group that a day is in, see [Groups.NextOn], whose errors it
// returns as well. It takes the numbers of a past group one by one, until the format has no room
// for one.
func (g *Groups) FillTextOn(ctx context.Context, f Format, day time.Time, dst []string,
) (int, error) {
	return f.fill(dst, func() (time.Time, int64, error) { return g.NextOn(ctx, day) })
}

// Next returns the next number of the group that the clock is in, and the first day of that group,
// as midnight UTC whatever the zone is; of Always the zero time, and of Yearly the first of January
// whatever YearStart is. The first call in a group takes a range, and maybe creates its tag, for
// which all others wait; each waits until ctx ends, and errors are those of [New] and
// [Sequence.NextContext]. Within a group, numbers rise.
//
// If the clock steps back, the later group goes on. A later one is opened only if the clock agrees
// within a day with that of the store, if that is a [Clock], and otherwise has not gained more than
// a day on the monotonic clock since the present group was opened, or did so ten minutes ago, as
// after a machine has slept. Until then the present group goes on, and Health has a warning; the
// clocks are compared meanwhile, about once a second. Always needs no clock.
func (g *Groups) Next(ctx context.Context) (day time.Time, n int64, err error) {
	now := g.now()
	for {
		present, err := g.at(ctx, now)
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

// NextOn returns a number of the group that a day is in, for a late posting, and the first day of
// that group as Next does. Year, month and day count as they stand, whatever the location is. A
// number of a past group is taken from the store by itself, in two calls, and a past group that is
// not there is created, unless it was pruned, which is ErrPruned. A group that has not begun is
// ErrNotBegun, and Always has no groups, which is ErrNoGroups. Like Next, it opens the present
// group.
func (g *Groups) NextOn(ctx context.Context, day time.Time) (first time.Time, n int64, err error) {
	if g.period == Always {
		return first, 0, fmt.Errorf("%w: tag %q", ErrNoGroups, g.tag)
	}
	first = g.dayOf(day)
	ctx, end, err := g.begin(ctx)
	if err != nil {
		return first, 0, err
	}
	defer end()
	n, err = g.nextOn(ctx, first, day)
	return first, n, g.ended(err)
}

// begin registers a call that Close ends and waits for. The caller must call end.
func (g *Groups) begin(ctx context.Context) (_ context.Context, end func(), err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.life.Err() != nil {
		return nil, nil, ErrClosed
	}
	g.running.Add(1)
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(g.life, cancel) //mutant:segment-next-on
	return ctx, func() {
		stop()
		cancel()
		g.running.Done()
	}, nil
}

// ended is the error of a call: ErrClosed if Close has ended it.
func (g *Groups) ended(err error) error {
	if err != nil && g.life.Err() != nil { //mutant:segment-closed
		return ErrClosed
	}
	return err
}

// nextOn is NextOn, for the group that begins on a day.
func (g *Groups) nextOn(ctx context.Context, first, day time.Time) (n int64, err error) {
	present, err := g.at(ctx, g.now())
	if err != nil {
		return 0, err
	}
	if first.After(present.day) {
		return 0, fmt.Errorf("%w: tag %q: it is %s", ErrNotBegun, g.tag, day.Format(time.DateOnly))
	}
	if first.Equal(present.day) {
		n, err = present.NextContext(ctx)
		if !errors.Is(err, ErrClosed) || present == g.cur.Load() {
			return n, err
		}
	}
	c := g.cfg
	c.Step, c.MaxStep, c.OnDemand = 1, 1, true
	s, err := g.open(ctx, first, c)
	if err != nil {
		return 0, err
	}
	n, err = s.NextContext(ctx)
	g.running.Go(func() { _ = s.Close(g.tidy) }) // a number that comes late is given back
	return n, err
}

// at returns the group that a time is in, or the present one if that is later.
func (g *Groups) at(ctx context.Context, now time.Time) (*group, error) {
	day := g.dayOf(now.In(g.zone))
	if p := g.cur.Load(); p != nil {
		d := g.doubted(p, day)
		if !day.After(p.day) || d != nil && time.Since(d.checked) < doubtEvery {
			return p, nil
		}
		if d != nil { //mutant:segment-doubt-waits
			// it goes on while the clocks are compared
			select {
			case g.turn <- struct{}{}:
				g.entered(now, day)
			default:
			}
			return p, nil
		}
	}
	select {
	case g.turn <- struct{}{}:
	case <-g.life.Done():
		return nil, ErrClosed
	case <-ctx.Done():
		return nil, g.opening(ctx)
	}
	select {
	case err := <-g.entered(now, day):
		return g.cur.Load(), err
	case <-ctx.Done():
		return nil, g.opening(ctx)
	}
}

// entered calls enter, also for those after a caller with little time, and gives up the turn, which
// the caller has.
func (g *Groups) entered(now, day time.Time) <-chan error {
	opened := make(chan error, 1)
	g.running.Go(func() {
		defer func() { <-g.turn }()
		opened <- g.ended(g.enter(now, day))
	})
	return opened
}

// doubted returns why a later group was not opened; nil: it was, or the clock is back.
func (g *Groups) doubted(present *group, today time.Time) *doubt {
	d := g.doubt.Load()
	if d != nil && !today.After(present.day) {
		g.doubt.CompareAndSwap(d, nil)
		return nil
	}
	return d
}

// watch notices that the clock is right again though nobody calls, so that a later doubt does not
// inherit the age of this one.
func (g *Groups) watch(present *group, since time.Time) {
	tick := time.NewTicker(doubtEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-g.life.Done():
			return
		}
		d := g.doubted(present, g.dayOf(g.now().In(g.zone))) //mutant:segment-doubt-ends
		if d == nil || !d.since.Equal(since) {
			return
		}
	}
}

// opening is the error of a caller whose time was over before the group was there.
func (g *Groups) opening(ctx context.Context) error {
	return fmt.Errorf("%w: tag %q: its group is being opened: %w",
		ErrUnavailable, g.tag, context.Cause(ctx))
}

// enter makes the group that begins on a day the present one, unless that is later, or the clock is
// in doubt. The caller has the turn.
func (g *Groups) enter(now, day time.Time) error {
	past := g.cur.Load()
	if past != nil && !day.After(past.day) {
		return nil
	}
	if d := g.doubt.Load(); past != nil && d != nil && time.Since(d.checked) < doubtEvery {
		return nil // who had the turn before has compared the clocks
	}
	wrong, err := g.compare(now, past)
	if err != nil {
		return err
	}
	if wrong != nil {
		d := &doubt{wrong, time.Now(), time.Now()}
		if was := g.doubt.Load(); was != nil {
			d.since = was.since
		} else {
			if past != nil {
				g.running.Go(func() { g.watch(past, d.since) })
			}
			g.cfg.Logger.Warn("no later group is opened", "tag", g.tag, "error", wrong)
		}
		g.doubt.Store(d)
		if past == nil {
			return wrong
		}
		return nil
	}
	s, err := g.open(g.life, day, g.cfg)
	if err != nil {
		return err
	}
	g.cur.Store(&group{Sequence: s, day: day, clock: g.now().Round(0), opened: time.Now()})
	g.doubt.Store(nil)
	if past != nil {
		g.running.Go(func() { g.leave(past) })
	}
	return nil
}

// compare returns as wrong why the clock cannot be believed that said now, and an error if that of
// the store cannot be read.
func (g *Groups) compare(now time.Time, past *group) (wrong, err error) {
	const differ = "%w: tag %q: no group is opened: this machine's clock is at %s, and %s; " +
		"set the clock"
	if g.period == Always {
		return nil, nil
	}
	at := now.UTC().Format(time.RFC3339)
	if c, ok := g.store.(Clock); ok {
		began := time.Now()
		theirs, err := g.read(c)
		if err != nil {
			return nil, err
		}
		theirs = theirs.Add(-time.Since(began))
		if now.Sub(theirs).Abs() > mostApart { //mutant:segment-clock
			wrong = fmt.Errorf(differ, ErrUnavailable, g.tag, at,
				"the store's at "+theirs.UTC().Format(time.RFC3339))
		}
		return wrong, nil
	}
	if past == nil || now.Round(0).Sub(past.clock)-time.Since(past.opened) <= mostApart {
		return nil, nil
	}
	if d := g.doubt.Load(); d != nil && time.Since(d.since) >= doubtEnds {
		return nil, nil
	}
	return fmt.Errorf(differ, ErrUnavailable, g.tag, at, "has gained more than a day"), nil
}

// read returns the time of the store, when that answers.
func (g *Groups) read(c Clock) (time.Time, error) {
	for {
		ctx, cancel := g.cfg.bounded(g.life)
		now, err := c.Now(ctx)
		cancel()
		if err == nil || refused(err) {
			return now, err
		}
		select {
		case <-time.After(lastPause):
		case <-g.life.Done():
			return now, ErrClosed
		}
	}
}

// open returns the numbers of the group that begins on a day, and creates its tag if it is not
// there.
func (g *Groups) open(ctx context.Context, day time.Time, c Config) (*Sequence, error) {
	name := g.tag + day.Format(endings[g.period])
	s, err := New(ctx, g.store, name, c)
	if g.period == Always || !errors.Is(err, ErrUnknownTag) {
		return s, err
	}
	maker, creates := g.store.(Creator)
	if !creates {
		return nil, fmt.Errorf("%w; the store cannot make it, so somebody has to", err)
	}
	call, cancel := g.cfg.bounded(ctx)
	defer cancel()
	t, err := g.store.Tag(call, g.tag)
	if err == nil {
		err = maker.Create(call, Tag{
			Name: name, Next: 1, Step: t.Step, Description: t.Description, Since: g.since(day),
		})
	}
	switch {
	case err == nil || errors.Is(err, ErrTagExists):
		return New(ctx, g.store, name, c)
	case !refused(err):
		err = fmt.Errorf("%w: tag %q: making it: %w", ErrUnavailable, name, err)
	}
	return nil, err
}

// since is when numbers of the group that begins on a day can have been handed out first: by a
// process whose clock was as far ahead as it may be.
func (g *Groups) since(day time.Time) time.Time {
	year, month, date := day.Date()
	if g.period == Yearly {
		month = max(month, g.cfg.YearStart)
	}
	return time.Date(year, month, date, 0, 0, 0, 0, g.zone).Add(-mostApart)
}

// leave gives back what is held of a group that is past, which is lost if that does not work.
func (g *Groups) leave(past *group) {
	if err := past.Close(g.tidy); err != nil {
		g.cfg.Logger.Warn("giving back numbers of a past group failed", "tag", past.tag, "error", err)
	}
}

// Close ends it as [Sequence.Close] does: later calls return ErrClosed, and what is unused is given
// back. A second call returns what the first did.
func (g *Groups) Close(ctx context.Context) error {
	g.closing.Do(func() {
		g.mu.Lock()
		g.cut()
		g.mu.Unlock()
		stop := context.AfterFunc(ctx, g.cutTidy)
		defer g.cutTidy()
		defer stop()
		g.turn <- struct{}{} // nobody opens a group any more
		if p := g.cur.Load(); p != nil {
			g.closed = p.Close(ctx)
		}
		g.running.Wait()
	})
	return g.closed
}
