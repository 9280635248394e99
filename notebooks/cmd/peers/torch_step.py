"""The update of PGCR in eager PyTorch, timed: the peer to beat on a CPU.

    python3 torch_step.py [--threads N] [--clock wall|cpu] [--seconds S] [R,B,M,D-H-... ...]

R stacked runs learn from a fixed random batch of B steps with M candidates, whose D features an actor and a critic with hidden
layers of H units read; the rivals of a context are drawn from the batch (N = 1), and both networks take a step of Adam. A line of
output has the argument, what computed, and the microseconds of an update of all runs in each of five turns.

On Debian: apt-get install python3-torch libopenblas0-pthread. With the reference BLAS it is 3 to 10 times slower.
"""
import argparse
import time

import torch

TURNS = 5
CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}


def forward(contexts, network):
    """Scores or values of contexts, [R, n, D]: [R, n]."""
    *hidden, (weights, bias) = network
    x = contexts
    for w, b in hidden:
        x = torch.baddbmm(b, x, w).relu()
    return torch.baddbmm(bias, x, weights)[:, :, 0]


def make_update(runs, batch, candidates, units):
    torch.manual_seed(1)
    n = batch * candidates

    def parameters():
        layers = zip(units, [*units[1:], 1])
        return [(torch.empty(runs, i, o).uniform_(-(i**-0.5), i**-0.5).requires_grad_(), torch.zeros(runs, 1, o, requires_grad=True))
                for i, o in layers]

    actor, critic = parameters(), parameters()
    optimiser = torch.optim.Adam([p for layer in actor + critic for p in layer], lr=0.001, foreach=True)
    contexts, reward = torch.rand(runs, n, units[0]), torch.rand(runs, batch)
    rivals = torch.randint(n, (runs, n * (candidates - 1)))
    chosen = torch.arange(batch) * candidates + torch.randint(candidates, (runs, batch))

    def update():
        optimiser.zero_grad(set_to_none=True)
        score, value = forward(contexts, actor), forward(contexts, critic)
        against = score.gather(1, rivals).view(runs, n, candidates - 1).logsumexp(2)
        probability = torch.sigmoid(score - against)  # (21)
        error = reward - value.gather(1, chosen)
        weight = probability.detach().gather(1, chosen)
        loss = (weight * error * error).sum() / 2 - (probability * value.detach()).sum()  # (23) and (25)
        (loss / batch).backward()
        optimiser.step()

    return update


def time_turns(update, seconds, clock):
    """Microseconds of an update in each turn. The first half second is not counted."""
    count, begin = 0, clock()
    while count < 2 or clock() - begin < seconds / 2:
        update()
        count += 1
    times = max(1, round(count * seconds / TURNS / (clock() - begin)))
    took = []
    for _ in range(TURNS):
        begin = clock()
        for _ in range(times):
            update()
        took.append((clock() - begin) / times * 1e6)
    return took


def blas():
    """The library of matrix products, as far as this process tells."""
    try:
        with open("/proc/self/maps") as maps:
            text = maps.read().lower()
    except OSError:
        return ""
    for name, library in (("OpenBLAS", "openblas"), ("MKL", "mkl"), ("reference BLAS", "libblas")):
        if library in text:
            return ", " + name
    return ""


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--loop", choices=["host"], default="host")
    options.add_argument("--threads", type=int, default=1)
    options.add_argument("--clock", choices=CLOCKS, default="wall")
    options.add_argument("--seconds", type=float, default=1)
    options.add_argument("shapes", nargs="*", default=["1,64,5,40-10", "20,64,5,40-10", "1,256,10,94-60-20"])
    options = options.parse_args()
    torch.set_num_threads(options.threads)
    for shape in options.shapes:
        runs, batch, candidates, units = shape.split(",")
        update = make_update(int(runs), int(batch), int(candidates), [int(u) for u in units.split("-")])
        took = time_turns(update, options.seconds, CLOCKS[options.clock])
        version = torch.__version__.split("+")[0]
        print(shape, f"PyTorch {version}{blas()}", *(f"{t:.2f}" for t in took), sep="\t", flush=True)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        raise SystemExit(130)
