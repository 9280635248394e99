package ondevice

// SetProgramSum makes something else the sum of the program that runs, until
// restore is called.
func SetProgramSum(sum string, err error) (restore func()) {
	before := programSum
	programSum = func() (string, error) { return sum, err }
	return func() { programSum = before }
}

type Checkpoint = checkpoint

var (
	ReadCheckpoint  = read
	WriteCheckpoint = (*checkpoint).write
)
