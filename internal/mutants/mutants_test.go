package mutants

import (
	"os"
	"slices"
	"strings"
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

// TestMutants applies each of the mutants, some at a time, or those that are this commit's turn.
// It fails for each that its test does not notice, and for each that does not build: that would
// prove nothing.
func TestMutants(t *testing.T) {
	if os.Getenv("UNALIKE_MUTANTS") == "" {
		t.Skip("the mutants take minutes; make mutants runs them (UNALIKE_MUTANTS=1)")
	}
	mutants, err := turn(all, os.Getenv("UNALIKE_MUTANTS_TURN"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := newRunner(t, "../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range mutants {
		t.Run(strings.ReplaceAll(m.name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			if problem := r.try(t, &m); problem != "" {
				t.Errorf("%s: %s", m.name, problem)
			}
		})
	}
}
