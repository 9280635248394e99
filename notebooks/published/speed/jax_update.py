"""One update of PGCR for R stacked runs in JAX: the peer to be faster than, on a CPU and on a GPU.

The critic learns from the B chosen contexts (squared error). The B*M contexts of the batch are permuted N times and cut into sets of M;
the actor ascends the mean over the sets of sum(softmax(score) * value). Adam on both. Fixed random inputs, no environment.
Prints microseconds an update of all runs, as Go's benchmarks do, called from the host and looped on the device (lax.fori_loop).
"""
import os
import time

import jax
import jax.numpy as jnp


def mlp(layers, x):
    for w, b in layers[:-1]:
        x = jax.nn.relu(x @ w + b)
    w, b = layers[-1]
    return (x @ w + b)[:, 0]


def make_update(M):
    def critic_loss(critic, chosen, reward):
        return 0.5 * jnp.mean((mlp(critic, chosen) - reward) ** 2)

    def actor_loss(actor, value, contexts, order):
        sets = order.shape[0] // M
        score = mlp(actor, contexts)[order].reshape(sets, M)
        return -jnp.sum(jax.nn.softmax(score) * value[order].reshape(sets, M)) / sets

    def adam(p, m, v, g, t):
        tree = jax.tree_util.tree_map
        m = tree(lambda a, b: 0.9 * a + 0.1 * b, m, g)
        v = tree(lambda a, b: 0.999 * a + 0.001 * b * b, v, g)
        p = tree(lambda a, b, c: a - 1e-3 * (b / (1 - 0.9**t)) / (jnp.sqrt(c / (1 - 0.999**t)) + 1e-8), p, m, v)
        return p, m, v

    def update(state, contexts, chosen, reward, order):
        (actor, am, av), (critic, cm, cv), t = state
        t = t + 1
        critic, cm, cv = adam(critic, cm, cv, jax.grad(critic_loss)(critic, chosen, reward), t)
        value = mlp(critic, contexts)
        actor, am, av = adam(actor, am, av, jax.grad(actor_loss)(actor, value, contexts, order), t)
        return (actor, am, av), (critic, cm, cv), t

    return update


def measure(title, R, B, M, D, hidden, N, loop):
    key = iter(jax.random.split(jax.random.PRNGKey(0), 64))
    sizes = [D, *hidden, 1]
    nets = []
    for _ in range(2):
        layers = [(jax.random.normal(next(key), (R, i, o)) / i**0.5, jnp.zeros((R, o))) for i, o in zip(sizes, sizes[1:])]
        zero = jax.tree_util.tree_map(jnp.zeros_like, layers)
        nets.append((layers, zero, zero))
    state = (*nets, jnp.zeros(R))
    contexts = jax.random.uniform(next(key), (R, B * M, D))
    batch = (contexts, contexts[:, ::M], jax.random.uniform(next(key), (R, B)),
             jnp.stack([jnp.concatenate([jax.random.permutation(k, B * M) for k in jax.random.split(q, N)]) for q in jax.random.split(next(key), R)]))
    update = jax.vmap(make_update(M))
    one = jax.jit(update, donate_argnums=0)
    many = jax.jit(lambda s, *b: jax.lax.fori_loop(0, loop, lambda _, q: update(q, *b), s), donate_argnums=0)
    for name, f, k in (("", one, 1), ("-loop", many, loop)):
        s = jax.tree_util.tree_map(jnp.copy, state)
        s = jax.block_until_ready(f(s, *batch))
        n = max(1, 5 * loop // k)
        begin = time.perf_counter()
        for _ in range(n):
            s = f(s, *batch)
        jax.block_until_ready(s)
        print(f"BenchmarkUpdate/{title}/R={R}/on=jax{name} {n} {(time.perf_counter() - begin) / n / k * 1e6:.1f} µs/update", flush=True)


if __name__ == "__main__":
    k = int(os.environ.get("LOOP", "200"))
    print("jax:", jax.__version__, jax.devices()[0].device_kind)
    for title, R, N in (("toy", 1, 1), ("toy", 20, 1), ("toy-N=4", 1, 4)):
        measure(title, R, 64, 5, 40, (10,), N, k)
    for R in (1, 5):
        measure("music", R, 256, 10, 94, (60, 20), 1, max(10, k // 10))
