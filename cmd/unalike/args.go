package main

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// arguments lets a command have from least to most arguments; what says what they are.
func arguments(least, most int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return fmt.Errorf("%s needs %s", c.CommandPath(), what)
		case len(args) > most && most == 0:
			return fmt.Errorf("%s takes no argument, and %q is one%s", c.CommandPath(), args[0],
				meantCount(c, args[0]))
		case len(args) > most:
			return fmt.Errorf("%s takes %s; %q is too much", c.CommandPath(), what, args[most])
		}
		return nil
	}
}

// noArguments is for a command that has flags alone.
func noArguments(c *cobra.Command, args []string) error { return arguments(0, 0, "")(c, args) }

// checkGiven refuses a flag that is given and empty, which most likely is a shell variable that is
// not set: going on with the default would be about something else.
func checkGiven(c *cobra.Command) (err error) {
	c.Flags().Visit(func(f *pflag.Flag) {
		what, _ := pflag.UnquoteUsage(f)
		if f.Value.Type() == "string" && f.Value.String() == "" && what != "string" {
			err = fmt.Errorf("--%s is empty; name the %s, or leave the flag out", f.Name, what)
		}
	})
	return err
}

// meantCount is a hint for who wrote a number where it is a flag's.
func meantCount(c *cobra.Command, arg string) string {
	if n, err := strconv.ParseUint(arg, 10, 63); err != nil || n == 0 ||
		c.Flags().Lookup("count") == nil {
		return ""
	}
	return "; did you mean --count " + arg + "?"
}
