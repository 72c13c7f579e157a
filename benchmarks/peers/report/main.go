// Command report reads the output of the benchmarks and writes what people look at:
// the table of the bars that this project holds itself to, and charts.
//
//	go run ./report -out ../results ../results/peers.txt ../results/coordinators.txt
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	out := flag.String("out", ".", "`folder` for bars.md and the charts")
	flag.Parse()
	if err := run(*out, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

func run(out string, files []string) error {
	m, err := read(files)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(out, "bars.md"), []byte(table(m)+"\n"+coordinators(m)), 0o644); err != nil { //nolint:gosec // for everybody to read
		return err
	}
	return drawAll(m, out)
}
