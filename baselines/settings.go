package baselines

import (
	"fmt"
	"math"
)

// NoExploration, as Alpha or Scale, stands for 0: the policy is greedy. Zero
// itself cannot, because it stands for the default.
const NoExploration = -1

// exploration returns the factor that an Alpha or Scale setting stands for.
func exploration(algorithm, field string, value float64) (float64, error) {
	if value == NoExploration {
		return 0, nil
	}
	return value, checkPositive(algorithm, field, value, " or NoExploration")
}

func checkPositive(algorithm, field string, value float64, orElse string) error {
	if value > 0 && !math.IsInf(value, 1) {
		return nil
	}
	return fmt.Errorf("baselines: %s.%s is %v, want a positive number%s", algorithm, field, value, orElse)
}

func checkNotNegative(algorithm, field string, value int) error {
	if value >= 0 {
		return nil
	}
	return fmt.Errorf("baselines: %s.%s is %d, want 0 or more", algorithm, field, value)
}
