package static_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/static"
)

// Without a state file a coordinator says what it cannot do.
func ExampleNew() {
	c, err := static.New(7, static.Options{Namespace: "orders"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	fmt.Println(strings.ReplaceAll(c.Describe().Warnings[0], ", ", ",\n"))
	// Output:
	// static worker ID without a state file: restarts after a step of the clock,
	// and other processes with the same worker ID,
	// are not protected against
}

// A URL is read strictly: what 007 means is not agreed on everywhere.
func Example_url() {
	_, err := coord.Open(context.Background(), "static://?worker=007&state=/var/lib/app/unalike.state",
		coord.OpenOptions{})
	fmt.Println(strings.ReplaceAll(err.Error(), "; ", ";\n"))
	// Output:
	// unalike: invalid static URL: option worker is "007";
	// it is a decimal number, env:NAME, hostname, or ip: a leading zero is not allowed
}
