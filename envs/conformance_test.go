package envs_test

import (
	"fmt"
	"testing"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/envtest"
)

func TestConformance(t *testing.T) {
	problems := bandits
	for _, p := range chains {
		problems = append(problems, p)
	}
	for _, p := range problems {
		t.Run(fmt.Sprintf("%T%+v", p, p), func(t *testing.T) { envtest.TestProblem(t, p) })
	}
	// No sessions in a bandit, and one trajectory a run in a chain.
	for _, p := range problems {
		_, isChain := p.(envs.Chain)
		if got := start(t, p, 1).Observe().Session != nil; got != isChain {
			t.Errorf("%T: sessions: %v, want %v", p, got, isChain)
		}
	}
}
