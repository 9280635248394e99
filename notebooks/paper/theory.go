package paper

import (
	"context"
	"errors"
)

// Theory measures what the paper proves: the bias of p_hat and the variances of
// the updates of PGCR and of vanilla policy gradient. The scale, 1 for the
// reported numbers, multiplies the number of draws.
func Theory(ctx context.Context, scale float64) (*TheoryResult, error) {
	return nil, errors.New("paper: the theory study is not declared yet")
}
