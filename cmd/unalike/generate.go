package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/unalike-id/unalike/config"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/driver"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/drivers"
)

const (
	// batchSize is how many IDs are taken and written at once.
	batchSize = 4096
	// releaseTimeout bounds how long the end of the program waits for a coordinator
	// to take the worker ID back.
	releaseTimeout = 5 * time.Second
)

// generateOptions are the flags of generate.
type generateOptions struct {
	namespaceOptions
	count   countValue
	format  choiceValue
	explain bool
	segment string // a tag: numbers are made instead of IDs
	store   string
	as      string // how they are written; "": as the file says
	zone    string // where their groups begin; "": as the file says
}

// generateCommand returns the command that makes IDs.
func (a *app) generateCommand() *cobra.Command {
	o := generateOptions{count: newValue("N", int64(1), parseCount)}
	c := &cobra.Command{
		Use:   "generate",
		Short: "Make new IDs, one a line",
		Long: `generate leases a worker ID from a coordinator, prints new IDs, one a line and in
ascending order, and gives the worker ID back.

Without --coordinator and ` + envCoordinator + `, it uses an etcd of its own, which runs in
this process, or in another one that is at it already, with its data in the user's
data folder. The IDs are then unique among all runs by this user on this machine with
the same layout, whether one runs or many at once, as long as that data is not deleted.

With --config, the settings come from a YAML file: coordinator, state, layout, ttl,
horizon, renew, worker_ids, identity, rollback_tolerance, lead, spread_below, stripes,
start_timeout. For each of them a variable of the environment, UNALIKE_TTL for ttl, wins
over the file, and a flag wins over both. Without a file, the variables count as well.

Once all IDs are printed the exit code is 0, also if the worker ID cannot be given
back; a warning says so, and it comes free when its lease ends.

With --segment, it prints plain increasing numbers of a tag from the store that --store
or the file of --config names, see 'unalike segments', and gives those back that it did not
print. In the default store a tag that is not there is made. With --as they are written in a
format; one with a date, as {YYYY-MM}-{n:6}, has numbers begin again with each month, in
the time zone --zone. A file can name both with its keys formats and zone.

An interrupt prints what was made so far, gives the worker ID back, and exits with
128 plus the signal's number.`,
		Example: `  unalike generate
  unalike generate --count 5 --explain
  unalike generate --count 1000000 --format base62 > ids.txt
  unalike generate --config unalike.yaml
  unalike generate --segment orders --count 3
  unalike generate --segment orders --as '{YYYY-MM}-{n:6}' --zone Europe/Berlin
  unalike generate --coordinator embed:///var/lib/app/unalike
  unalike generate --coordinator 'static://?worker=7&state=/var/lib/app/unalike.state'`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := checkSegmentFlags(c, &o); err != nil {
				return err
			}
			if o.segment != "" {
				return a.generateNumbers(c, &o)
			}
			cfg, err := a.settings(c, &o.namespaceOptions)
			if err != nil {
				return err
			}
			if err := checkLayoutAt(cfg.Layout, time.Now()); err != nil {
				if c.Flags().Changed("layout") {
					err = usageError{err}
				}
				return err
			}
			return a.generate(c.Context(), &o, cfg)
		},
	}
	c.Flags().VarP(&o.count, "count", "n", "how many IDs to make")
	c.Flags().StringVar(&o.coordinator, ofCoordinator, "",
		"`URL` of the coordinator that leases the worker ID (default: $"+envCoordinator+
			", else an etcd of this user on this machine)")
	addConfigFlag(c, &o.config)
	addGeneratorFlag(c)
	addLayoutFlag(c, &o.layout)
	addFormatFlag(c, &o.format, "how to print an ID", formats()...)
	c.Flags().StringVar(&o.segment, "segment", "",
		"a `TAG`: print plain numbers of it, from a store of segments, and no IDs")
	c.Flags().StringVar(&o.as, "as", "",
		"with --segment: the `FORMAT` of the numbers, for example {YYYY-MM}-{n:6} or INV{n:8}{97}")
	c.Flags().StringVar(&o.zone, "zone", "",
		"with --as: the time `ZONE` of its date, for example Europe/Berlin (default UTC)")
	addStoreFlag(c, &o.store, "$"+envStore+", else an etcd of this user on this machine")
	c.Flags().BoolVar(&o.explain, "explain", false,
		"print time, worker ID and sequence number beside each ID")
	completeCoordinators(c, ofCoordinator)
	return c
}

// checkLayoutAt tells whether IDs of a layout can be made at a time. It is asked before a
// coordinator is opened, which may make a new namespace.
func checkLayoutAt(l core.Layout, now time.Time) error {
	switch {
	case l.Epoch.After(now):
		return fmt.Errorf("layout %v: its epoch is in the future, for the clock says %s; choose one "+
			"that is past", l, now.UTC().Format(timeForm))
	case !l.Expires().After(now):
		return fmt.Errorf("layout %v: its time bits were spent at %s; choose a later epoch or "+
			"more time bits", l, l.Expires().Format(timeForm))
	}
	return nil
}

// generate prints the IDs that o asks for. After a signal it tidies up and returns
// that as its error.
func (a *app) generate(ctx context.Context, o *generateOptions, cfg config.Config) error {
	return untilStopped(ctx, func(ctx context.Context) error { return a.generateUntil(ctx, o, cfg) })
}

// generateUntil is generate until ctx ends.
func (a *app) generateUntil(ctx context.Context, o *generateOptions,
	cfg config.Config,
) (err error) {
	log, level := a.logger(), new(slog.LevelVar)
	level.Set(a.level())
	cfg.Logger = a.newLog(level, false)
	where, err := a.findCoordinator(&o.namespaceOptions, cfg)
	if err == nil {
		where, cfg, err = where.withState(cfg)
	}
	if err != nil {
		return err
	}
	log.Info("coordinator", "named_by", where.from, "url", where.String())
	c, g, err := a.startGenerator(ctx, where, cfg)
	if c != nil {
		defer func() { warnOf(log, c.Close(), "closing the coordinator failed") }()
	}
	if err != nil {
		return explainSettings(&o.namespaceOptions, err)
	}
	defer func() {
		// The worker ID goes back even if ctx has ended.
		tidy, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
		defer cancel()
		level.Set(math.MaxInt) // what goes wrong now is said once, here
		said := "giving the worker ID back failed"
		if err == nil {
			said = "all IDs were printed"
		}
		warnOf(log, g.Close(tidy), said)
	}()
	p := printer{format: o.format.v, layout: cfg.Layout, explain: o.explain}
	return a.writeIDs(ctx, g, p, o.count.v)
}

// startGenerator opens the coordinator and starts a generator on it; both say by themselves what
// they wait for. After an error the coordinator may be open.
func (a *app) startGenerator(ctx context.Context, where place,
	cfg config.Config,
) (c coord.Coordinator, g *core.Generator, err error) {
	began := time.Now()
	if err := a.awaitPresence(ctx, where, where.check); err != nil {
		return nil, nil, err
	}
	if a.bounded { //mutant:timeout-bounds-start
		cfg.StartTimeout = max(a.answer-time.Since(began), time.Millisecond)
		bounded, cancel := context.WithTimeout(ctx, cfg.StartTimeout)
		defer cancel()
		ctx = bounded
		defer func() {
			if errors.Is(err, context.DeadlineExceeded) {
				err = fmt.Errorf("%w; --timeout allows %v", err, a.answer)
			}
		}()
	}
	if c, err = where.open(ctx, cfg.Logger); err == nil {
		g, err = core.New(ctx, c, cfg.Config)
	}
	return c, g, err
}

// warnOf logs what went wrong while tidying up. What was asked for is done, or has
// failed for another reason; so this is no reason for an exit code.
func warnOf(log *slog.Logger, tidying error, said string) {
	if tidying == nil {
		return
	}
	if cause := errors.Unwrap(tidying); cause != nil && strings.HasPrefix(tidying.Error(), "core: ") {
		tidying = cause // which names the worker ID first
	}
	log.Warn(said + "; " + strings.ReplaceAll(tidying.Error(), "\n", "; "))
}

// source is the part of a generator that writeIDs needs.
type source interface {
	Fill(ctx context.Context, dst []core.ID) (n int, err error)
}

// writeIDs takes count IDs from g and writes them. Every ID that was taken is
// written, whatever ends the run, unless writing itself fails.
func (a *app) writeIDs(ctx context.Context, g source, p printer, count int64) error {
	progress := a.newProgress(a.out)
	defer progress.finish()
	ids := make([]core.ID, min(count, batchSize))
	var text []byte
	for left := count; left > 0; {
		n, err := g.Fill(ctx, ids[:min(left, int64(len(ids)))])
		text = text[:0]
		var werr error
		for _, id := range ids[:n] {
			if text, werr = p.appendLine(text, id); werr != nil {
				return errors.Join(werr, err)
			}
		}
		if werr := a.write(text); werr != nil {
			return errors.Join(werr, err)
		}
		left -= int64(n)
		progress.show("generating", count-left, count)
		if err != nil {
			return fmt.Errorf("after %d of %d IDs: %w", count-left, count, err)
		}
	}
	return nil
}

// completeCoordinators makes the shell offer the schemes that have a driver.
func completeCoordinators(c *cobra.Command, flag string) {
	var urls []string
	for _, scheme := range drivers.Coordinators.Schemes() {
		switch scheme {
		case "static":
			urls = append(urls, "static://?worker=", "static://?worker=hostname&state=")
		case "embed", "file":
			urls = append(urls, scheme+":///")
		default:
			urls = append(urls, (&driver.URL{Scheme: scheme}).Text())
		}
	}
	complete(c, flag, urls)
}
