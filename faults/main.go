// Command faults runs the fault suite: generators in processes of their own on real servers, to
// which something happens, and a verdict on every ID that they have issued.
//
//	faults list
//	faults run -short
//	faults run -backend etcd kill-loop clock-steps
//	faults run -resume -results faults.jsonl
//	faults run -backend zk -seed 17 -for 5m storm
//
// The exit code is 0 if every scenario has passed, 1 if one has failed or the suite was
// interrupted, and 2 for a mistake on the command line. Servers that are not installed are
// skipped; if UNALIKE_STRICT is set, that is a failure, as is everything else that cannot be run.
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

	"github.com/unalike-id/unalike/faults/scenarios"
	"github.com/unalike-id/unalike/faults/stage"
	"github.com/unalike-id/unalike/faults/worker"
)

const usage = `usage:
  faults list                      shows all scenarios
  faults run [OPTIONS] [NAME...]   runs scenarios by name; without names, all; and prints the
                                   results as a table in Markdown
'faults run -h' shows the options.`

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
		return list(args[1:], out)
	case "run":
		return run(ctx, args[1:], out, log)
	case "help", "-h", "-help", "--help":
		_, err := fmt.Fprintln(out, usage)
		return err
	}
	return fmt.Errorf("%w there is no command %q; there are list and run\n%s", errUsage,
		args[0], usage)
}

// list prints the scenarios.
func list(args []string, out io.Writer) error {
	if len(args) > 0 {
		return fmt.Errorf("%w list takes no arguments, and %q is given", errUsage, args[0])
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, sc := range scenarios.With(0, 0) {
		// Flush has the error.
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\n", sc.Name, strings.Join(sc.Backends, " "), sc.About)
	}
	return w.Flush()
}

// run runs scenarios and prints the report.
func run(ctx context.Context, args []string, out, log io.Writer) error {
	o := stage.Options{Log: log, Commit: commit}
	flags := flag.NewFlagSet("faults run", flag.ContinueOnError)
	flags.SetOutput(log)
	on := flags.String("backend", "", "run on this `back end` alone")
	flags.BoolVar(&o.Short, "short", false, "run the short set, some ten minutes in all")
	flags.BoolVar(&o.Resume, "resume", false,
		"go on with the results: what has passed is not run again")
	flags.IntVar(&o.Parallel, "parallel", 2,
		"run so many scenarios at a time; those that need the machine for themselves have it")
	flags.StringVar(&o.Results, "results", "faults.jsonl",
		"write results to this `file`, one line of JSON each; what is in it is lost without -resume")
	flags.StringVar(&o.Keep, "keep", "faults-failed",
		"keep the journals of failed runs below this `folder`; empty: nowhere")
	seed := flags.Uint64("seed", 0,
		"the `seed` of which the schedule of storms is made; 0: each its own")
	length := flags.Duration("for", 0, "how long storms last; 0: each its own time")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return err
	case err != nil:
		return fmt.Errorf("%w %w", errUsage, err)
	case o.Parallel < 1:
		return fmt.Errorf("%w -parallel is %d; it is at least 1", errUsage, o.Parallel)
	case *length < 0 || *length > 0 && *length < scenarios.Shortest:
		return fmt.Errorf("%w -for is %v; a storm lasts at least %v", errUsage, *length,
			scenarios.Shortest)
	}
	var err error
	if o.Jobs, err = stage.Select(scenarios.With(*seed, *length), flags.Args(), *on,
		o.Short); err != nil {
		return fmt.Errorf("%w %w", errUsage, err)
	}
	results, err := stage.Run(ctx, o)
	if err != nil {
		return fmt.Errorf("%w; go on with -resume and the same options", err)
	}
	if err := stage.Report(out, results); err != nil {
		return err
	}
	return judge(results)
}

// judge returns the error of a run with these results.
func judge(results []stage.Result) error {
	results = stage.Latest(results)
	switch {
	case slices.ContainsFunc(results, func(r stage.Result) bool { return len(r.Failures) > 0 }):
		return errFailed
	case os.Getenv("UNALIKE_STRICT") != "" && slices.ContainsFunc(results, func(r stage.Result) bool {
		return r.Skipped != ""
	}):
		return errSkipped
	}
	return nil
}
