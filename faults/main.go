// Command faults runs the fault suite: generators in processes of their own on real servers, to which something
// happens, and a verdict on every ID that they have issued.
//
//	faults list
//	faults run -short
//	faults run -backend etcd kill-loop clock-steps
//	faults run -resume faults.jsonl
//	faults storm -backend etcd -seed 17 -for 5m
//	faults mutants
//	faults report faults.jsonl
//
// The exit code is 0 if every scenario has passed, 1 if one has failed or the suite was interrupted, and 2 for a
// mistake on the command line. Servers that are not installed are skipped; if UNALIKE_STRICT is set, that is a failure,
// as is everything else that cannot be run.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/unalike-id/unalike/faults/backend"
	"github.com/unalike-id/unalike/faults/scenarios"
	"github.com/unalike-id/unalike/faults/stage"
	"github.com/unalike-id/unalike/faults/storms"
	"github.com/unalike-id/unalike/faults/worker"
)

const usage = `usage:
  faults list                      shows all scenarios
  faults run [OPTIONS] [NAME...]   runs scenarios, by name or number; without names, all
  faults storm [OPTIONS]           runs random storms, by seed
  faults mutants [NAME...]         shows that mistakes in the library are noticed
  faults report FILE               prints the results in FILE as a table in Markdown

'faults run -h' shows the options.`

// defaultResults is the file that results go to.
const defaultResults = "faults.jsonl"

// commit is the commit that the program is built of; make sets it.
var commit string

var (
	// errUsage says that the command line is wrong.
	errUsage = errors.New("")
	// errFailed says that a scenario has failed, which was printed.
	errFailed = errors.New("scenarios have failed")
	// errSkipped says that a scenario could not be run, which was printed, and that somebody minds.
	errSkipped = errors.New("scenarios were not run, and UNALIKE_STRICT is set; the report says why")
)

func main() {
	backend.Main()
	worker.Main()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once, and with it all others
	err := command(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
	case errors.Is(err, errUsage):
		fmt.Fprintln(os.Stderr, "faults:"+err.Error())
		os.Exit(2)
	default:
		fmt.Fprintln(os.Stderr, "faults:", err)
		os.Exit(1)
	}
}

// command runs the command that args name.
func command(ctx context.Context, args []string, out, log io.Writer) error {
	if len(args) == 0 {
		return fmt.Errorf("%w no command is given\n%s", errUsage, usage)
	}
	switch args[0] {
	case "list":
		return list(args[1:], out, log)
	case "run":
		return run(ctx, args[1:], out, log)
	case "storm":
		return storm(ctx, args[1:], out, log)
	case "mutants":
		return mutate(ctx, args[1:], out, log)
	case "report":
		return report(args[1:], out)
	case "help", "-h", "-help", "--help":
		_, err := fmt.Fprintln(out, usage)
		return err
	}
	return fmt.Errorf("%w there is no command %q; there are list, run, storm, mutants and report\n%s", errUsage, args[0], usage)
}

// list prints the scenarios.
func list(args []string, out, _ io.Writer) error {
	if len(args) > 0 {
		return fmt.Errorf("%w list takes no arguments, and %q is given", errUsage, args[0])
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, sc := range all() {
		set := ""
		if sc.Short != nil {
			set = "short"
		}
		if _, err := fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\n", sc.Number, sc.Name, set, strings.Join(sc.Backends, " "), sc.About); err != nil {
			return err
		}
	}
	return w.Flush()
}

// run runs scenarios and prints the report.
func run(ctx context.Context, args []string, out, log io.Writer) error {
	var o stage.Options
	flags := flag.NewFlagSet("faults run", flag.ContinueOnError)
	flags.SetOutput(log)
	on := flags.String("backend", "", "run on this `back end` alone")
	flags.BoolVar(&o.Short, "short", false, "run the short set, eight minutes in all")
	resume := flags.String("resume", "", "go on with the results in this `file`: what has passed is not run again")
	err := parse(flags, &o, args)
	if err != nil {
		return err
	}
	if o.Jobs, err = stage.Select(all(), flags.Args(), *on, o.Short); err != nil {
		return fmt.Errorf("%w %w", errUsage, err)
	}
	o.Log = log
	if *resume != "" {
		o.Results, o.Resume = *resume, true
	}
	return perform(ctx, o, out)
}

// parse reads the options of a command that runs scenarios: its own, and those that all of them have.
func parse(flags *flag.FlagSet, o *stage.Options, args []string) error {
	flags.IntVar(&o.Parallel, "parallel", 2, "run so many scenarios at a time; those that need the machine for themselves have it")
	flags.StringVar(&o.Results, "results", defaultResults, "write results to this `file`, one line of JSON each; what is in it is lost")
	flags.StringVar(&o.Keep, "keep", "faults-failed", "keep the journals of failed runs below this `folder`; empty: nowhere")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return err
	case err != nil:
		return fmt.Errorf("%w %w", errUsage, err)
	case o.Parallel < 1:
		return fmt.Errorf("%w -parallel is %d; it is at least 1", errUsage, o.Parallel)
	}
	return nil
}

// perform runs what was selected and prints the report.
func perform(ctx context.Context, o stage.Options, out io.Writer) error {
	o.Commit = commit
	done, err := stage.Run(ctx, o)
	if err != nil {
		return fmt.Errorf("%w; go on with 'faults run -resume %s' and the same options", err, o.Results)
	}
	if err := stage.Report(out, done); err != nil {
		return err
	}
	strict := os.Getenv("UNALIKE_STRICT") != ""
	for _, r := range stage.Latest(done) {
		switch {
		case len(r.Failures) > 0:
			return errFailed
		case strict && !r.Passed():
			err = errSkipped
		}
	}
	return err
}

// all returns all scenarios, the storms among them.
func all() []stage.Scenario { return append(scenarios.All(), storms.All()...) }

// storm runs storms of several seeds on one back end.
func storm(ctx context.Context, args []string, out, log io.Writer) error {
	var o stage.Options
	flags := flag.NewFlagSet("faults storm", flag.ContinueOnError)
	flags.SetOutput(log)
	on := flags.String("backend", "etcd", "run on this `back end`: "+strings.Join(backend.Names(), ", "))
	seed := flags.Uint64("seed", 1, "the `seed`, of which the schedule is made")
	seeds := flags.Int("seeds", 1, "run so many storms, with this seed and those that follow")
	length := flags.Duration("for", time.Minute, "how long each storm lasts")
	contended := flags.Bool("contended", false, "run processes that contend for too few worker IDs")
	state := flags.Bool("state", false, "give each generator a state file")
	if err := parse(flags, &o, args); err != nil {
		return err
	}
	switch {
	case flags.NArg() > 0:
		return fmt.Errorf("%w storm takes no arguments, and %q is given", errUsage, flags.Arg(0))
	case !slices.Contains(backend.Names(), *on):
		return fmt.Errorf("%w there is no back end %q; there are %s", errUsage, *on, strings.Join(backend.Names(), ", "))
	case *seeds < 1:
		return fmt.Errorf("%w -seeds is %d; it is at least 1", errUsage, *seeds)
	case *length < storms.Shortest:
		return fmt.Errorf("%w -for is %v; a storm lasts at least %v", errUsage, *length, storms.Shortest)
	case *state && *contended:
		return fmt.Errorf("%w -state and -contended are not for the same storm", errUsage)
	case *state && !slices.Contains(storms.Keepers(), *on):
		return fmt.Errorf("%w -state is for %s, and the back end is %q", errUsage, strings.Join(storms.Keepers(), ", "), *on)
	}
	for n := range *seeds {
		s := *seed + uint64(n) //nolint:gosec // it is not negative
		kind, name := storms.Scenario, "storm"
		switch {
		case *contended:
			kind, name = storms.Contended, "contended-storm"
		case *state:
			kind, name = storms.Keeping, "storm-state"
		}
		o.Jobs = append(o.Jobs, stage.Job{Scenario: kind(fmt.Sprintf("%s-seed-%d", name, s), s, *length, *on), Backend: *on})
	}
	o.Log = log
	return perform(ctx, o, out)
}

// report prints the results in a file.
func report(args []string, out io.Writer) error {
	if len(args) != 1 {
		return fmt.Errorf("%w report takes one argument, the file of results; %d are given", errUsage, len(args))
	}
	if _, err := os.Stat(args[0]); err != nil {
		return err
	}
	results, err := stage.ReadResults(args[0])
	if err != nil {
		return err
	}
	return stage.Report(out, results)
}
