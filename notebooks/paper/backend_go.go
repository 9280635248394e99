//go:build !xla

package paper

import "github.com/contextrec/contextrec/pgcr"

const defaultBackend = pgcr.SequentialGo + ",parallelism=0"
