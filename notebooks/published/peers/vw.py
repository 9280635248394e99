"""Vowpal Wabbit on the streams of a toy problem.

    python -m pip install -r requirements.txt
    python vw.py toy-linear --scale 0.15

plays --cb_explore_adf with --epsilon, --squarecb and --regcbopt on the contexts and
rewards that `paper export` writes, which are those that our algorithms meet. Settings
are searched as package paper does it, with twice the runs and half the finalists: 32 of
each, drawn at random, play a fifth of the steps in 10 runs of seed 101; the best 4 play
all steps in 10 runs of seed 102; the winner is played with the reported seed. Results go
below notebooks/out/peers, as the files that `paper plot` and `paper table` read, and all
tries beside them. Of another problem or other steps than our results they are left out;
met they other rewards, which a number in their headers tells, that is an error. A step
takes about 0.1 ms; all of a problem's at 20,000 steps take 15 minutes on one core. With --settings the winners of an
earlier search, on another problem, are played without a search; those of
vw-defaults.csv are Vowpal Wabbit's own.
"""

import argparse
import csv
import hashlib
import json
import math
import pathlib
import re
import subprocess
import tempfile

import numpy as np
import vowpalwabbit

TRIES, FINALISTS, TUNING_RUNS, TUNING_SEED = 32, 4, 10, 101
ROOT = pathlib.Path(__file__).resolve().parents[3]


class Streams:
    """What a problem offers and pays: contexts [T, R, M, D], expected and rewards [T, R, M]."""

    def __init__(self, paper, name, scale, *flags):
        command = [paper, "export", name, "--scale", repr(scale), *flags]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as export:
            self.header = h = json.loads(export.stdout.readline())
            self.runs, self.steps, m = h["runs"], h["steps"], h["candidates"]
            step = np.dtype([("contexts", "<f4", (self.runs, m, h["dim"])),
                             ("expected", "<f8", (self.runs, m)), ("rewards", "<f4", (self.runs, m))])
            data = np.frombuffer(export.stdout.read(), step)
        if export.returncode or len(data) != self.steps:
            raise SystemExit(f"{' '.join(command)}: status {export.returncode}, {len(data)} of {self.steps} steps")
        self.contexts, self.expected, self.rewards = data["contexts"], data["expected"], data["rewards"]

    def check(self):
        """The reward and the regret of run 0 if the candidates are chosen in turn."""
        t = np.arange(min(self.steps, 10_000))
        expected, a = self.expected[t, 0], t % self.expected.shape[2]
        regret = np.cumsum(expected.max(1) - expected[t, a])[-1]
        return "reward %.6g, regret %.6g" % (np.cumsum(self.rewards[t, 0, a].astype(float))[-1], regret)


def play(streams, run, texts, arguments):
    """Cumulated reward and regret of one run."""
    vw = vowpalwabbit.Workspace("--quiet --cb_explore_adf " + arguments)
    uniform = np.random.default_rng([7, streams.header["seed"], run]).random(streams.steps)
    rewards, regrets = [], []
    for t, text in enumerate(texts):
        examples = vw.parse(text, labelType=vowpalwabbit.LabelType.CONTEXTUAL_BANDIT)
        p = vw.predict(examples)
        at, a = uniform[t] * sum(p), 0
        while a < len(p) - 1 and at >= p[a]:
            at, a = at - p[a], a + 1
        reward, expected = float(streams.rewards[t, run, a]), streams.expected[t, run]
        examples[a].set_label_string(f"0:{-reward}:{p[a]}")  # a cost; 0 is the action of this line
        vw.learn(examples)
        vw.finish_example(examples)
        rewards.append(reward)
        regrets.append(expected.max() - expected[a])
    vw.finish()
    return np.cumsum(rewards), np.cumsum(regrets)


def play_all(streams, settings):
    """What play returns, for every setting and run: [setting][run]."""
    results = [[] for _ in settings]
    for run in range(streams.runs):
        texts = [["|f " + " ".join(f"{k}:{x:.9g}" for k, x in enumerate(c)) for c in step]
                 for step in streams.contexts[:, run].tolist()]
        for result, arguments in zip(results, settings):
            result.append(play(streams, run, texts, arguments))
    return results


def final_regret(result):
    return float(np.mean([regret[-1] for _, regret in result]))


def costs(rewards):
    return f"--cb_min_cost {-rewards.max():.3g} --cb_max_cost {-rewards.min():.3g}"


def draw(rng, algorithm, rewards):
    """A setting: all that decides, from wide ranges that reach far towards greedy choice."""
    def between(low, high):
        return f"{low * (high / low) ** rng.random():.3g}"
    own = {"epsilon": lambda: f"--epsilon {between(0.0001, 0.2)} --cb_type {rng.choice(['mtr', 'dr'])}",
           "squarecb": lambda: f"--squarecb --gamma_scale {between(10, 100_000)} --gamma_exponent {rng.choice([0.25, 0.5, 0.75])}",
           "regcbopt": lambda: f"--regcbopt --mellowness {between(1e-6, 1)} {costs(rewards)}"}
    return " ".join([own[algorithm](), f"-l {between(0.001, 10)} --power_t {rng.choice([0, 0.5])}", rng.choice(["", "--noconstant"])]).strip()


def number(x):
    """As Go prints a float64."""
    return repr(float(x)).removesuffix(".0")


def write(folder, streams, entry, arguments, result):
    """A file of package sim, see its Store."""
    h = streams.header
    values = [h["experiment"], entry, h["problem"], f"vowpalwabbit {json.dumps('--cb_explore_adf ' + arguments)}", h["runs"], h["steps"], h["seed"],
              "vw.py", "vowpalwabbit " + vowpalwabbit.__version__, streams.check()]
    keys = ["experiment", "entry", "problem", "algorithm", "runs", "steps", "seed", "version", "backend", "check"]
    text = "# contextrec result: 3\n" + "".join(f"# {k}: {v}\n" for k, v in zip(keys, values)) + "run,step,reward,regret\n"
    rows = [f"{run},{t},{number(reward[t - 1])},{number(regret[t - 1])}\n"
            for run, (reward, regret) in enumerate(result) for t in h["checkpoints"]]
    text += "".join(rows)
    text += f"# end: {len(rows)} rows, sha256 {hashlib.sha256(text.encode()).hexdigest()}\n"
    name = re.sub(r"[^a-z0-9.]+", "-", entry.lower()) + "-" + hashlib.sha256("\n".join(map(str, values[:7])).encode()).hexdigest()[:8]
    (folder / (name + ".csv")).write_text(text)


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("name", help="toy-linear or another of `paper list`, but music")
    arguments.add_argument("--scale", type=float, default=1, help="fraction of the 20,000 steps")
    arguments.add_argument("--out", type=pathlib.Path, default=ROOT / "notebooks" / "out" / "peers")
    arguments.add_argument("--settings", type=pathlib.Path, help="the file of all tries of an earlier search")
    a = arguments.parse_args()
    folder = a.out / a.name
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as made:
        paper = str(pathlib.Path(made) / "paper")
        subprocess.run(["go", "build", "-o", paper, "./notebooks/cmd/paper"], cwd=ROOT, check=True)
        first = Streams(paper, a.name, a.scale / 5, "--runs", str(TUNING_RUNS), "--seed", str(TUNING_SEED))
        if not a.settings:
            second = Streams(paper, a.name, a.scale, "--runs", str(TUNING_RUNS), "--seed", str(TUNING_SEED + 1))
        reported = Streams(paper, a.name, a.scale)
    known, tries = {}, []
    if a.settings:
        with open(a.settings, newline="") as file:
            for row in csv.DictReader(file):
                if row["round"] == "2":  # the best comes first
                    known.setdefault(row["algorithm"], re.sub(r"--cb_min_cost \S+ --cb_max_cost \S+", costs(first.rewards), row["settings"]))
    for algorithm in ["epsilon", "squarecb", "regcbopt"]:
        rng = np.random.default_rng([TUNING_SEED, *algorithm.encode()])
        settings = [known[f"VW {algorithm}"]] if a.settings else [draw(rng, algorithm, first.rewards) for _ in range(TRIES)]
        for round, streams in enumerate([] if a.settings else [first, second], 1):
            results = play_all(streams, settings)
            ranked = sorted(zip(map(final_regret, results), settings))
            tries += [[f"VW {algorithm}", round, streams.steps, f"{regret:.6g}", s] for regret, s in ranked]
            settings = [s for _, s in ranked[:FINALISTS]]
        result, = play_all(reported, settings[:1])
        write(folder, reported, f"VW {algorithm}", settings[0], result)
        final = [regret[-1] for _, regret in result]
        error = np.std(final, ddof=1) / math.sqrt(len(final))
        print(f"{a.name}, {reported.steps} steps: VW {algorithm} {np.mean(final):.1f} (standard error {error:.1f}), {settings[0]}", flush=True)
    if not a.settings:
        with open(a.out / f"tries-{a.name}-{reported.steps}.csv", "w", newline="") as file:
            csv.writer(file).writerows([["algorithm", "round", "steps", "mean final regret", "settings"], *tries])


if __name__ == "__main__":
    main()
