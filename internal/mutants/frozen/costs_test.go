package frozen

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// cost is how long the mutants of a package took.
type cost struct {
	mutants int
	build   time.Duration // of the mutants
	test    time.Duration // of the mutants
	control time.Duration // building and running the unchanged code
}

// costs are the costs by package.
type costs map[string]cost

func (c costs) add(pkg string, more cost) {
	sum := c[pkg]
	sum.mutants += more.mutants
	sum.build += more.build
	sum.test += more.test
	sum.control += more.control
	c[pkg] = sum
}

// table says what one mutant of each package costs on average. Some run at the same time, so the sum is more
// than the time that has passed.
func (c costs) table() string {
	var s strings.Builder
	fmt.Fprintf(&s, "%-22s %8s %9s %9s %12s\n", "seconds per mutant", "mutants", "build", "test", "control, all")
	for _, pkg := range slices.Sorted(maps.Keys(c)) {
		sum := c[pkg]
		n := float64(max(1, sum.mutants))
		fmt.Fprintf(&s, "%-22s %8d %9.2f %9.2f %12.1f\n",
			pkg, sum.mutants, sum.build.Seconds()/n, sum.test.Seconds()/n, sum.control.Seconds())
	}
	return s.String()
}
