package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"github.com/unalike-id/unalike/internal/logs"
)

// Exit codes, besides 128 plus the number of a signal.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2
)

// streams are the three standard streams.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// app is what all commands share.
type app struct {
	streams
	lookupEnv func(string) (string, bool)
	verbose   bool
	waits
	wait    bool // for a coordinator that refuses connections
	bounded bool // the timeout was given
	started bool // the command line was understood and the command runs
}

// sticky remembers the first error in writing, for those who forget it: cobra does when
// it writes a help.
type sticky struct {
	io.Writer
	err error
}

func (s *sticky) Write(b []byte) (int, error) {
	n, err := s.Writer.Write(b)
	if s.err == nil {
		s.err = err
	}
	return n, err
}

// usageError is a mistake on the command line that shows only while the command
// runs.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// run executes the command line args and returns the exit code. It returns soon after
// ctx ends.
func run(ctx context.Context, args []string, std streams,
	lookupEnv func(string) (string, bool),
) int {
	a := &app{streams: std, lookupEnv: lookupEnv, waits: waits{
		answer: answerTime, quiet: quietTime,
		dial: dialTime,
	}}
	return a.run(ctx, args)
}

// run executes the command line args.
func (a *app) run(ctx context.Context, args []string) int {
	root := a.rootCommand()
	root.SetArgs(args)
	help := &sticky{Writer: a.out}
	root.SetOut(help)
	root.InitDefaultCompletionCmd()
	if c, _, err := root.Find([]string{"completion"}); err == nil {
		c.Args, c.RunE = knownCommand, root.RunE
	}
	command, err := root.ExecuteContextC(ctx)
	if help.err != nil {
		a.started = true // it was no mistake on the command line
		err = fmt.Errorf("writing: %w", help.err)
	}
	return a.exitCode(command, err)
}

// exitCode reports err and says what it means for the caller.
func (a *app) exitCode(command *cobra.Command, err error) int {
	stopped := signalled{}
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &stopped):
		return stopped.exitCode()
	case errors.Is(err, brokenPipe):
		// The reader has what it wanted, as head has: nothing to complain about.
		return exitOK
	}
	a.complain("unalike: %s\n", inCommands.Replace(err.Error()))
	if usage := (usageError{}); !a.started || errors.As(err, &usage) {
		a.complain("Run '%s --help' for usage.\n", command.CommandPath())
		return exitUsage
	}
	return exitFailure
}

// inCommands turns what the library advises programs into what is typed here.
var inCommands = strings.NewReplacer(
	"declare it with Init first", "'unalike init' declares it",
	"declare it with Init only if", "declare it with 'unalike init' only if",
	"declare a new one with Init and raise its floor with Quarantine",
	"declare a new one with 'unalike init' and raise its floor with 'unalike quarantine'",
)

// complain writes to the standard error output. If that fails there is nobody to tell.
func (s streams) complain(format string, args ...any) {
	_, _ = fmt.Fprintf(s.err, format, args...)
}

// rootCommand returns the whole tree of commands.
func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "unalike",
		Short: "Make and read unique, time-ordered 64-bit IDs",
		Long: `unalike makes and reads unique, time-ordered 64-bit IDs (Snowflake IDs).

Results go to the standard output, logs and progress to the standard error output.

Exit codes: 0 success, 1 failure, 2 a mistake on the command line,
128 plus the signal's number after a signal.`,
		Args:          knownCommand,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
		Version:       buildVersion(),
		SilenceErrors: true,
		SilenceUsage:  true,
		PersistentPreRunE: func(c *cobra.Command, _ []string) error {
			if a.answer <= 0 {
				return fmt.Errorf("--timeout is %v; it is a duration above 0, as 30s is", a.answer)
			}
			if err := checkGiven(c); err != nil {
				return err
			}
			a.started, a.bounded = true, c.Flags().Changed("timeout")
			return nil
		},
	}
	root.SetIn(a.in)
	root.SetErr(a.err)
	root.SetFlagErrorFunc(suggestFlag)
	root.SetVersionTemplate("unalike {{.Version}}\n")
	root.PersistentFlags().BoolVarP(&a.verbose, "verbose", "v", false, "log more than warnings")
	root.PersistentFlags().DurationVar(&a.answer, "timeout", a.answer,
		"how long to wait for an answer of the coordinator or store, and for a start")
	root.PersistentFlags().BoolVar(&a.wait, "wait", false,
		"wait for a coordinator or store that refuses connections, instead of failing at once")
	root.AddCommand(a.generateCommand(), a.decodeCommand(), a.verifyCommand(), a.layoutCommand(),
		a.workersCommand(), a.initCommand(), a.quarantineCommand(), a.retireCommand(),
		a.segmentsCommand(), a.serveCommand())
	return root
}

// level is from which level on the log has something: warnings, or more if asked for.
func (a *app) level() slog.Level {
	if a.verbose {
		return slog.LevelInfo
	}
	return slog.LevelWarn
}

// logger is the log of a command for operators.
func (a *app) logger() *slog.Logger { return a.newLog(a.level(), false) }

// newLog returns a log on the standard error output: for a person if it is a terminal.
func (a *app) newLog(level slog.Leveler, inJSON bool) *slog.Logger {
	options := &slog.HandlerOptions{Level: level}
	var h slog.Handler = slog.NewTextHandler(a.err, options)
	switch {
	case inJSON:
		h = slog.NewJSONHandler(a.err, options)
	case isTerminal(a.err):
		h = newTerminalLog(a.err, level)
	}
	return logs.Or(slog.New(h)) //mutant:command-outbox
}
