"""One PGCR update for R stacked runs in JAX: the peer to beat on a GPU.

Actor and critic MLPs, the other M-1 contexts resampled from the batch (N = 1), Adam on both; fixed random inputs, no environment.
Prints microseconds per step (all runs) and per run-step, for a host loop (loop=1) and a device loop (lax.fori_loop).
"""
import time

import jax
import jax.numpy as jnp


def mlp(x, layers):
    for w, b in layers[:-1]:
        x = jax.nn.relu(x @ w + b)
    w, b = layers[-1]
    return (x @ w + b)[:, 0]


def make_step(B, M):
    def loss(params, x, others, chosen, reward):
        score, value = mlp(x, params["actor"]), mlp(x, params["critic"])
        norm = jax.nn.logsumexp(score[others].reshape(-1, M - 1), axis=1)
        marginal = jax.nn.sigmoid(score - norm)
        hold = jax.lax.stop_gradient
        critic = 0.5 * (hold(marginal)[chosen] * (reward - value[chosen]) ** 2).sum() / B
        actor = -(marginal * hold(value)).sum() / B
        return critic + actor

    grad = jax.grad(loss)

    def step(state, *batch):
        p, m, v, t = state
        t = t + 1
        g = grad(p, *batch)
        tree = jax.tree_util.tree_map
        m = tree(lambda a, b: 0.9 * a + 0.1 * b, m, g)
        v = tree(lambda a, b: 0.999 * a + 0.001 * b * b, v, g)
        p = tree(lambda a, b, c: a - 1e-3 * (b / (1 - 0.9**t)) / (jnp.sqrt(c / (1 - 0.999**t)) + 1e-8), p, m, v)
        return p, m, v, t

    return step


def run(R, B, M, D, hidden, loop, steps):
    n, key = B * M, jax.random.split(jax.random.PRNGKey(0), 64)
    sizes, k = [D, *hidden, 1], 4
    params = {}
    for net in ("actor", "critic"):
        params[net] = []
        for i, o in zip(sizes, sizes[1:]):
            params[net].append((jax.random.normal(key[k], (R, i, o)) * 0.1, jnp.zeros((R, 1, o))))
            k += 1
    zeros = jax.tree_util.tree_map(jnp.zeros_like, params)
    state = (params, zeros, zeros, jnp.zeros((R,)))
    batch = (
        jax.random.uniform(key[0], (R, n, D)),
        jax.random.randint(key[1], (R, n * (M - 1)), 0, n),
        jax.random.randint(key[2], (R, B), 0, n),
        jax.random.uniform(key[3], (R, B)),
    )
    step = jax.vmap(make_step(B, M))
    call = jax.jit(lambda s: jax.lax.fori_loop(0, loop, lambda _, s: step(s, *batch), s))
    state = jax.block_until_ready(call(state))
    best = None
    for _ in range(3):
        start = time.time()
        for _ in range(steps // loop):
            state = call(state)
        jax.block_until_ready(state)
        took = (time.time() - start) / steps * 1e6
        best = took if best is None else min(best, took)
    print(f"jax {jax.default_backend()} R={R} B={B} M={M} {D}-{'-'.join(map(str, hidden))}-1 loop={loop}: "
          f"{best:.1f} us/step {best / R:.2f} us/run-step", flush=True)


if __name__ == "__main__":
    for R in (1, 20, 256):
        run(R, 64, 5, 40, [10], 1000, 3000)
    for R in (1, 5):
        run(R, 256, 10, 94, [60, 20], 1000, 3000)
    run(5, 256, 10, 379, [90, 20], 1000, 3000)
