// Command report reads the output of the benchmarks and writes what people look at:
// the table of the bars that this project holds itself to, with what was not measured, and
// charts.
//
//	go run ./report ../results
//
// The folder has the output of each suite: benchmarks.txt, peers.txt, coordinators.txt and
// service.txt. What is written is put beside them.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return errors.New("name the folder with what go test -bench has printed, and nothing else")
	}
	m, silent, err := read(args[0])
	if err != nil {
		return err
	}
	text := table(m) + "\n" + leftOut(m, silent)
	if err := os.WriteFile(filepath.Join(args[0], "bars.md"), []byte(text), 0o644); err != nil {
		return err
	}
	return drawAll(m, args[0])
}
