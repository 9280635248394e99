"""The update of PGCR in JAX, timed: the peer to beat on a GPU.

    python3 jax_step.py [--loop host|device] [--seconds S] [R,B,M,D-H-... ...]

The update, its arguments and the output are those of torch_step.py. With the device loop, the default, a call repeats the update
in lax.fori_loop; with the host loop, every update is a call.
"""
import argparse
import time

import jax
import jax.numpy as jnp

TURNS = 5
CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}


def forward(contexts, network):
    """Scores or values of contexts, [n, D]: [n]."""
    *hidden, (weights, bias) = network
    x = contexts
    for w, b in hidden:
        x = jax.nn.relu(x @ w + b)
    return (x @ weights + bias)[:, 0]


def make_loss(batch, candidates):
    def loss(networks, contexts, rivals, chosen, reward):
        score, value = forward(contexts, networks["actor"]), forward(contexts, networks["critic"])
        against = jax.nn.logsumexp(score[rivals].reshape(-1, candidates - 1), axis=1)
        probability = jax.nn.sigmoid(score - against)  # (21)
        constant = jax.lax.stop_gradient
        critic = 0.5 * (constant(probability)[chosen] * (reward - value[chosen]) ** 2).sum()  # (23)
        actor = -(probability * constant(value)).sum()  # (25)
        return (critic + actor) / batch

    return loss


def adam(networks, gradients, moments, rate=0.001, b1=0.9, b2=0.999, epsilon=1e-8):
    m, v, t = moments
    t = t + 1
    tree = jax.tree_util.tree_map
    m = tree(lambda m, g: b1 * m + (1 - b1) * g, m, gradients)
    v = tree(lambda v, g: b2 * v + (1 - b2) * g * g, v, gradients)
    networks = tree(lambda w, m, v: w - rate * (m / (1 - b1**t)) / (jnp.sqrt(v / (1 - b2**t)) + epsilon), networks, m, v)
    return networks, (m, v, t)


def make_update(runs, batch, candidates, units):
    """The initial state of all runs, and a function that updates it once."""
    keys = iter(jax.random.split(jax.random.PRNGKey(1), 64))
    n = batch * candidates

    def parameters():
        layers = zip(units, [*units[1:], 1])
        return [(jax.random.uniform(next(keys), (runs, i, o), minval=-(i**-0.5), maxval=i**-0.5), jnp.zeros((runs, 1, o))) for i, o in layers]

    networks = {"actor": parameters(), "critic": parameters()}
    zeros = jax.tree_util.tree_map(jnp.zeros_like, networks)
    data = (
        jax.random.uniform(next(keys), (runs, n, units[0])),
        jax.random.randint(next(keys), (runs, n * (candidates - 1)), 0, n),
        jnp.arange(batch) * candidates + jax.random.randint(next(keys), (runs, batch), 0, candidates),
        jax.random.uniform(next(keys), (runs, batch)),
    )
    gradient = jax.grad(make_loss(batch, candidates))

    def update(state, *data):
        networks, moments = state
        return adam(networks, gradient(networks, *data), moments)

    return (networks, (zeros, zeros, jnp.zeros(runs))), lambda state: jax.vmap(update)(state, *data)


def time_turns(state, update, loop, seconds, clock):
    """Microseconds of an update in each turn. Compilation and the first half second are not counted."""
    if loop == "device":
        call = jax.jit(lambda state, times: jax.lax.fori_loop(0, times, lambda _, s: update(s), state))
    else:
        one = jax.jit(update)

        def call(state, times):
            for _ in range(times):
                state = one(state)
            return state

    state = jax.block_until_ready(call(state, 1))
    times, start = 1, clock()
    while True:
        begin = clock()
        state = jax.block_until_ready(call(state, times))
        took = clock() - begin
        if took > seconds / TURNS or clock() - start > seconds:
            break
        times *= 2
    times = max(1, round(times * seconds / TURNS / took))
    turns = []
    for _ in range(TURNS):
        begin = clock()
        state = jax.block_until_ready(call(state, times))
        turns.append((clock() - begin) / times * 1e6)
    return turns


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--loop", choices=["host", "device"], default="device")
    options.add_argument("--threads", type=int, default=0, help="not used: XLA takes as many as it likes")
    options.add_argument("--clock", choices=CLOCKS, default="wall")
    options.add_argument("--seconds", type=float, default=1)
    options.add_argument("shapes", nargs="*", default=[
        "1,64,5,40-10", "20,64,5,40-10", "256,64,5,40-10", "1,256,10,94-60-20", "5,256,10,94-60-20", "5,256,10,379-90-20"])
    options = options.parse_args()
    for shape in options.shapes:
        runs, batch, candidates, units = shape.split(",")
        state, update = make_update(int(runs), int(batch), int(candidates), [int(u) for u in units.split("-")])
        took = time_turns(state, update, options.loop, options.seconds, CLOCKS[options.clock])
        print(shape, f"JAX {jax.__version__} {jax.default_backend()}", *(f"{t:.2f}" for t in took), sep="\t", flush=True)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        raise SystemExit(130)
