package frozen

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
)

// mutant is one way to break the code.
type mutant struct {
	name     string
	file     string // from the module's root
	old, new string // old occurs once in file
	pkg      string // the package with the test
	test     string // which must fail
	hangs    bool   // the test may also fail by not ending
}

// all are the mutants.
var all = slices.Concat(
	clockMutants, coreMutants, keeperMutants, driverMutants, operatorMutants,
	cmdFixMutants,
	declaredMutants,
	eyesMutants,
	coreFixMutants,
	zkFixMutants,
	zkMutants,
	sqlMutants,
	keeperFixMutants,
	review1Mutants,
	review4Mutants,
	staticFixMutants,
	redisFixMutants,
	etcdFixMutants,
	review2Mutants,
	review3Mutants,
	decideMutants,
	toyMutants,
	resumeMutants,
	followMutants,
	betweenMutants,
	etcdMutants,
	simMutants,
	awaySimMutants, keptMutants, markMutants, recoveryMutants,
	simulatedMutants,
	mendMutants,
	verifyMutants,
	badInputMutants,
	startMutants,
	segmentMutants, segmentFixMutants,
	kubernetesMutants,
	awayMutants, togetherMutants,
	kubernetesWireMutants,
	kubernetesMendMutants,
	configMutants,
	serviceMutants,
	rpcMutants,
	attackMutants,
)

// TestMutants applies each of the mutants, some at a time, and reports which a test notices, which stay alive, and which
// are of a text that is gone since the mutants were frozen. It fails for those that stay alive, and for each that does not
// build: that would prove nothing.
func TestMutants(t *testing.T) {
	if os.Getenv("UNALIKE_MUTANTS") == "" {
		t.Skip("the mutants take an hour; make mutants runs them (UNALIKE_MUTANTS=1)")
	}
	r, err := newRunner(t, "../../..")
	if err != nil {
		t.Fatal(err)
	}
	var (
		mu          sync.Mutex
		gone, alive []string
	)
	t.Cleanup(func() {
		fmt.Printf("%d noticed, %d alive, %d of a text that is gone\n", len(all)-len(alive)-len(gone), len(alive), len(gone))
		for _, name := range slices.Sorted(slices.Values(alive)) {
			fmt.Println("alive:", name)
		}
		for _, name := range slices.Sorted(slices.Values(gone)) {
			fmt.Println("text gone:", name)
		}
	})
	for _, m := range all {
		t.Run(strings.ReplaceAll(m.name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			problem, err := r.try(t, &m)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case errors.Is(err, errGone):
				gone = append(gone, m.name)
				t.Skip(err)
			case err != nil || problem != "":
				alive = append(alive, m.name)
				t.Error(m.name, problem, err)
			}
		})
	}
}

// TestGone: a mutant whose text is not there once, or whose file is gone, says so.
func TestGone(t *testing.T) {
	for _, m := range []mutant{
		{file: "core/doc.go", old: "no such text"},
		{file: "core/doc.go", old: "e"},
		{file: "core/none.go", old: "package"},
	} {
		if _, err := m.overlay(t, "../../.."); !errors.Is(err, errGone) {
			t.Errorf("%q in %s: %v", m.old, m.file, err)
		}
	}
	if _, err := (&mutant{file: "core/doc.go", old: "package core"}).overlay(t, "../../.."); err != nil {
		t.Error(err)
	}
}
