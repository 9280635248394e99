package cli

// Description is what the help says of a command.
type Description struct{ Use, Short string }

// The commands of the program, which the launcher hands over to it. [Host.Lab] and
// [Host.Kernel] are in both.
var (
	List      = Description{"list", "List the experiments, their contenders and what is stored"}
	Run       = Description{"run NAME...", "Run experiments, or go on with what was begun"}
	Plot      = Description{"plot [NAME...]", "Draw figures of stored results (without names: of all)"}
	Table     = Description{"table", "Judge the paper's claims by stored results"}
	Execute   = Description{"notebooks [NAME...]", "Execute the notebooks (without names: all) with the Go kernel"}
	Reproduce = Description{"reproduce", "Run everything but music: experiments, theory, figures, notebooks, claims"}
	Synthetic = Description{"synthetic DIR", "Write synthetic KKBox files of any size into a folder"}
	Bench     = Description{"bench", "Time decisions, updates and whole steps on every backend, beside PyTorch and JAX"}
	Site      = Description{"site DIR [NAME...]", "Write the notebooks (without names: all) as web pages, with figures and claims"}
)

// OfProgram are these.
var OfProgram = []Description{List, Run, Plot, Table, Execute, Reproduce, Synthetic, Bench, Site}
