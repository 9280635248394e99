"""The update of jax_update.py in PyTorch for R stacked runs (eager, fused Adam): what a user without Go would write first.

Prints microseconds an update of all runs, as Go's benchmarks do. THREADS=2 for two threads; COMPILE=1 for torch.compile (needs a C++ compiler).
"""
import os
import time

import torch


def mlp(x, layers):
    for w, b in layers[:-1]:
        x = torch.relu(torch.baddbmm(b, x, w))
    w, b = layers[-1]
    return torch.baddbmm(b, x, w).squeeze(-1)


def measure(title, R, B, M, D, hidden, N, steps):
    torch.manual_seed(0)
    sizes = [D, *hidden, 1]

    def network():
        return [((torch.randn(R, i, o) / i**0.5).requires_grad_(), torch.zeros(R, 1, o, requires_grad=True)) for i, o in zip(sizes, sizes[1:])]

    actor, critic = network(), network()
    adams = [torch.optim.Adam([p for layer in net for p in layer], lr=1e-3, fused=True) for net in (actor, critic)]
    contexts, reward = torch.rand(R, B * M, D), torch.rand(R, B)
    chosen = contexts[:, ::M].contiguous()
    order = torch.stack([torch.cat([torch.randperm(B * M) for _ in range(N)]) for _ in range(R)])

    def losses():
        return 0.5 * ((mlp(chosen, critic) - reward) ** 2).sum() / B

    def value():
        with torch.no_grad():
            return mlp(contexts, critic)

    def objective(v):
        p = torch.softmax(mlp(contexts, actor).gather(1, order).view(R, N * B, M), 2)
        return -(p * v.gather(1, order).view(R, N * B, M)).sum() / (N * B)

    if os.environ.get("COMPILE"):
        losses, value, objective = torch.compile(losses), torch.compile(value), torch.compile(objective)

    def update():
        for adam in adams:
            adam.zero_grad(set_to_none=True)
        losses().backward()
        adams[1].step()
        objective(value()).backward()
        adams[0].step()

    for _ in range(10):
        update()
    begin = time.perf_counter()
    for _ in range(5 * steps):
        update()
    took = (time.perf_counter() - begin) / (5 * steps) * 1e6
    print(f"BenchmarkUpdate/{title}/R={R}/on=torch {5 * steps} {took:.1f} µs/update", flush=True)


if __name__ == "__main__":
    torch.set_num_threads(int(os.environ.get("THREADS", "1")))
    print("torch:", torch.__version__)
    for title, R, N, steps in (("toy", 1, 1, 100), ("toy", 20, 1, 40), ("toy-N=4", 1, 4, 100)):
        measure(title, R, 64, 5, 40, (10,), N, steps)
    for R in (1, 5):
        measure("music", R, 256, 10, 94, (60, 20), 1, 10)
