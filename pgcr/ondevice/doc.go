// Package ondevice plays simulations in programs of XLA that run for many steps: a chunk of steps,
// decisions, updates and all, is one loop on the device, where the host's loop of package sim calls
// the device twice a step. On a GPU, and for small networks on a CPU, the calls are most of the time.
//
// The host draws what a chunk is made of before it begins: contexts, the rewards of all candidates,
// uniform numbers, which steps an update learns from, and how their contexts are permuted. Each
// number comes from the random stream that pgcr.Agent, or neural.Policy, takes it from. The loop
// decides, keeps its decisions, puts together the batch, and calls pgcr.Update. So a run makes the
// decisions of the host's loop, until rounding, which Adam makes large where a gradient is all
// rounding, decides a near tie.
//
// That is for bandits with full candidate sets, whose contexts and rewards depend on no earlier
// choice. The decisions of each chunk are made once more in an environment of the host, which shows
// whether they do. Play returns an Unsupported error for everything else.
package ondevice
