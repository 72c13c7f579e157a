// Command unalike makes and reads unique, time-ordered 64-bit IDs.
//
//	unalike generate --count 5
//	unalike decode 1541815603606036480
//	unalike workers --coordinator etcd://localhost:2379/orders
//
// Results go to the standard output; logs and progress go to the standard error
// output. The exit code is 0 for success, 1 for a failure, 2 for a mistake on the
// command line, and 128 plus the signal's number after a signal.
package main

import (
	"context"
	"os"
	_ "time/tzdata" // images and Windows have no time zones
)

func main() {
	// Without this, writing to a closed pipe would end the process on the spot, with
	// its worker ID still leased.
	ignoreBrokenPipe()
	os.Exit(run(context.Background(), os.Args[1:],
		streams{in: os.Stdin, out: os.Stdout, err: os.Stderr}, os.LookupEnv))
}
