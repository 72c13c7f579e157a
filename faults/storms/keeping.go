package storms

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/unalike-id/unalike/faults/stage"
)

// Keepers returns the back ends of storms with state files: those that lose nothing in a storm.
func Keepers() []string { return []string{"etcd", "etcd3", "zk", "postgres", "mariadb", "kubernetes"} }

// Keeping returns the storm of a seed in which every generator has a state file, which outlives its processes. It is for
// [Keepers]: what follows a loss, an operator has to say.
func Keeping(name string, seed uint64, length time.Duration, backends ...string) stage.Scenario {
	sc := Scenario(name, seed, length, backends...)
	sc.About = fmt.Sprintf("a mixture of all faults for %v, by seed %d, to processes with state files; then all generators issue again", length, seed)
	sc.Run = func(s *stage.Stage) {
		st := newStorm(s, seed, keeping)
		st.run(length, plan(st.rng, length, targets(st.Backend, len(st.fleet))))
	}
	return sc
}

// keeping makes the generators of a storm, each with a state file, and returns their layout.
func keeping(st *storm) (layout string) {
	layout = mixed(st)
	dir := st.TempDir()
	for p := range st.fleet {
		for i := range st.fleet[p] {
			g := &st.fleet[p][i]
			g.State, g.Patience = filepath.Join(dir, g.Name+".state"), startTime
		}
	}
	return layout
}

// startTime is how long a start goes on before it is told why there is no worker ID.
const startTime = 5 * time.Second
