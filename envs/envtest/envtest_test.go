package envtest_test

import (
	"testing"
	"fmt"
	"time"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/baselines"
	"github.com/contextrec/contextrec/envs/envtest"
)

func TestTmp(t *testing.T) {
	for _, p := range []envs.Problem{envs.Linear{}, envs.Bernoulli{}, envs.Mixed{}, envtest.Chain{}, envtest.Chain{Episodic: true}} {
		t0 := time.Now()
		envtest.TestProblem(t, p)
		fmt.Printf("%T %v\n", p, time.Since(t0))
	}
	for _, a := range []envs.Algorithm{baselines.Random{}, baselines.LinUCB{}, baselines.LinearThompson{}, baselines.GLMUCB{}, baselines.LogisticThompson{}} {
		t0 := time.Now()
		envtest.TestAlgorithm(t, a, envs.Linear{})
		fmt.Printf("%T %v\n", a, time.Since(t0))
	}
}
