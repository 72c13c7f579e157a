package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/unalike-id/unalike/core"
)

// countValue is a flag for a positive number.
type countValue int64

func (v *countValue) String() string { return strconv.FormatInt(int64(*v), 10) }
func (*countValue) Type() string     { return "N" }

// Set implements pflag.Value.
func (v *countValue) Set(s string) error {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 1 {
		return fmt.Errorf("a whole number from 1 to %d is needed", int64(math.MaxInt64))
	}
	*v = countValue(n)
	return nil
}

// choiceValue is a flag for one of several words.
type choiceValue struct {
	value   string
	choices []string
	kind    string
}

func (v *choiceValue) String() string { return v.value }
func (v *choiceValue) Type() string   { return v.kind }

// Set implements pflag.Value.
func (v *choiceValue) Set(s string) error {
	if !slices.Contains(v.choices, s) {
		return errors.New("it is one of " + strings.Join(v.choices, ", "))
	}
	v.value = s
	return nil
}

// layoutValue is a flag for a layout.
type layoutValue struct{ core.Layout }

func (*layoutValue) Type() string { return "LAYOUT" }

// Set implements pflag.Value.
func (v *layoutValue) Set(s string) (err error) {
	v.Layout, err = core.ParseLayout(s)
	return err
}

// addLayoutFlag gives c the flag --layout.
func addLayoutFlag(c *cobra.Command, v *layoutValue) {
	v.Layout = core.DefaultLayout()
	c.Flags().Var(v, "layout", "layout: "+strings.Join(core.LayoutNames(), ", ")+", or a fingerprint as 'unalike layout' prints it")
	complete(c, "layout", core.LayoutNames())
}

// addChoiceFlag gives c a flag for one of v.choices.
func addChoiceFlag(c *cobra.Command, v *choiceValue, name, what string) {
	c.Flags().Var(v, name, what+": "+strings.Join(v.choices, ", "))
	complete(c, name, v.choices)
}

// complete makes the shell offer words for a flag.
func complete(c *cobra.Command, flag string, words []string) {
	// The error is about a flag that does not exist or that has words already.
	if err := c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		c.PrintErrln("unalike: completion of --"+flag+":", err)
	}
}
