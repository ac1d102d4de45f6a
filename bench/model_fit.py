#!/usr/bin/env python3
"""The time model against measured lineages: models every version of the measured walks on the instance that was measured, fits the model's few scale factors on some
kernels and shows the error on the others.

    python3 bench/model_fit.py CORPUS.db... [--klineage build/bin/klineage] [--train KERNEL,...] [--sample N] [--keep FILE]

CORPUS.db are corpora mined with --device cuda (bench/gpu.sh). Needs no GPU. Prints a page's section in Markdown. --keep names a file in which the
modelled counters are kept, so that a second fit takes no time.
"""
import argparse
import json
import math
import pathlib
import sqlite3
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
CLOCK = 1.98e9
LAUNCH = 2.2e-6
# What is fitted: the weight of each part of the model (docs/device/time-model.md), 1 as it stands.
PARTS = ["issue", "load_store", "other_pipes", "latency", "l2", "dram"]


def measured(database):
    """Transitions with what was measured: kernel, step, label, instance, versions and seconds of both sides."""
    corpus = sqlite3.connect(database)
    rows = corpus.execute("""select t.kernel, t.step, t.locus_label, e.instance, t.from_version, t.to_version, e.before_seconds, e.after_seconds
                             from transitions t join effects e on e.owner_kind = 'transition' and e.owner = t.id
                             where e.measured = 1 and t.outcome = 'accepted' order by t.id""").fetchall()
    names = ["kernel", "step", "label", "instance", "expert", "plain", "expert_seconds", "plain_seconds"]
    return [dict(zip(names, row)) for row in rows]


def model(klineage, database, kernel, version, instance, sample):
    """Counters of one version on one instance, a spread sample of its blocks."""
    text = subprocess.run([klineage, "corpus", "--corpus", str(database), "show", "--source", version], capture_output=True, text=True, check=True).stdout
    source = ROOT / "expert_kernels" / kernel
    workload = json.loads((source / "workload.json").read_text())
    axes = next(i["axes"] for i in workload["instances"] if i["name"] == instance)
    smallest = min((i for i in workload["instances"] if i["role"] != "profile" and not i.get("devices")), key=lambda i: math.prod(i["axes"].values()))
    workload["instances"] = [smallest, {"name": "fit", "axes": axes, "role": "profile", "devices": ["emulated"], "sample_blocks": sample}]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "workload.json").write_text(json.dumps(workload))
        (folder / "kernel.cu").write_text(text)
        (folder / workload["reference"]).write_text((source / workload["reference"]).read_text())
        done = subprocess.run([klineage, "gate", str(folder), "--instance", "fit", "--seeds", "1", "--json"], capture_output=True, text=True)
        verdict = json.loads(done.stdout)
    if not verdict["profile"]:
        print(f"{kernel} {version[:12]}: {verdict['reason']} {verdict['detail'][:200]}", file=sys.stderr)
        return None
    return verdict["profile"][0]["candidate_counters"]


def overlap(a, b):
    large, small = max(a, b), min(a, b)
    return large * (1 + (small / large) ** 4) ** 0.25 if large > 0 else 0


def seconds(counters, weights):
    pipes = {name: value for name, value in counters.items() if name.startswith("model_cycles_") and name[13:] not in ("latency", "exposed")}
    cycles = max(value * weights.get(name[13:], weights["other_pipes"]) for name, value in pipes.items())
    multiprocessor = overlap(cycles, counters["model_cycles_latency"] * weights["latency"]) / CLOCK
    whole = overlap(overlap(multiprocessor, counters["model_seconds_l2"] * weights["l2"]), counters["model_seconds_dram"] * weights["dram"])
    return LAUNCH + overlap(whole, counters["model_seconds_atomics"])


def ranks(values):
    order = sorted(range(len(values)), key=lambda i: values[i])
    result = [0.0] * len(values)
    at = 0
    while at < len(order):
        end = at
        while end + 1 < len(order) and values[order[end + 1]] == values[order[at]]:
            end += 1
        for i in order[at:end + 1]:
            result[i] = (at + end) / 2
        at = end + 1
    return result


def correlation(a, b):
    a, b = ranks(a), ranks(b)
    x, y = sum(a) / len(a), sum(b) / len(b)
    above = sum((p - x) * (q - y) for p, q in zip(a, b))
    below = math.sqrt(sum((p - x) ** 2 for p in a) * sum((q - y) ** 2 for q in b))
    return above / below if below else 0


def fit(points):
    """Weights that make the logarithms of modelled and measured times closest, by coordinate descent; weights stay within a factor of eight."""
    weights = dict.fromkeys(PARTS, 1.0)

    def loss(w):
        return sum(math.log(seconds(c, w) / t) ** 2 for c, t in points) / len(points)

    best, step = loss(weights), 1.3
    while step > 1.01:
        improved = False
        for part in PARTS:
            for factor in (step, 1 / step):
                trial = dict(weights, **{part: min(8, max(0.125, weights[part] * factor))})
                now = loss(trial)
                if now < best - 1e-9:
                    best, weights, improved = now, trial, True
        if not improved:
            step = math.sqrt(step)
    return weights


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("corpora", nargs="+")
    parser.add_argument("--klineage", default=str(ROOT / "build/bin/klineage"))
    parser.add_argument("--train", default="row_softmax,transpose,sgemm")
    parser.add_argument("--sample", type=int, default=66)
    parser.add_argument("--keep")
    options = parser.parse_args()
    kept = json.loads(pathlib.Path(options.keep).read_text()) if options.keep and pathlib.Path(options.keep).exists() else {}
    train = options.train.split(",")
    transitions, times = [], {}
    for database in options.corpora:
        for one in measured(database):
            sample = max(2, options.sample // 8) if one["kernel"] == "sgemm" else options.sample
            for side in ("expert", "plain"):
                key = f"{one['kernel']} {one[side]} {one['instance']} {sample}"
                if key not in kept:
                    print(f"modelling {one['kernel']} {one[side][:12]} on {one['instance']}", file=sys.stderr)
                    kept[key] = model(options.klineage, database, one["kernel"], one[side], one["instance"], sample)
                    if options.keep:
                        pathlib.Path(options.keep).write_text(json.dumps(kept))
                one[side + "_counters"] = kept[key]
                if kept[key]:
                    times.setdefault(key, (one["kernel"], kept[key], []))[2].append(one[side + "_seconds"])
            if one["expert_counters"] and one["plain_counters"]:
                transitions.append(one)
    points = [(kernel, counters, sum(values) / len(values)) for kernel, counters, values in times.values()]
    weights = fit([(c, t) for kernel, c, t in points if kernel in train])
    plain = dict.fromkeys(PARTS, 1.0)
    print(f"Fitted on the {sum(k in train for k, _, _ in points)} versions of {', '.join(train)}; weights: " + ", ".join(f"{p} {weights[p]:.2f}" for p in PARTS) + ".\n")
    print("| kernels | versions | transitions | rank correlation of effects, as it stands | fitted | worst effect, as it stands | fitted | median error of a time, as it stands | fitted |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name, chosen in (("fitted on", train), ("held out", sorted({k for k, _, _ in points} - set(train)))):
        mine = [t for t in transitions if t["kernel"] in chosen]
        if not mine:
            continue
        real = [t["plain_seconds"] / t["expert_seconds"] for t in mine]
        cells = [f"{name}: {', '.join(chosen)}", str(sum(k in chosen for k, _, _ in points)), str(len(mine))]
        correlations, worsts, errors = [], [], []
        for w in (plain, weights):
            modelled = [seconds(t["plain_counters"], w) / seconds(t["expert_counters"], w) for t in mine]
            correlations.append(f"{correlation(modelled, real):.2f}")
            worst = max(range(len(mine)), key=lambda i: abs(math.log(modelled[i] / real[i])))
            worsts.append(f"{mine[worst]['kernel']} {mine[worst]['step']}: {modelled[worst]:.2f} for {real[worst]:.2f}")
            off = sorted(abs(math.log(seconds(c, w) / t)) for k, c, t in points if k in chosen)
            errors.append(f"{100 * (math.exp(off[len(off) // 2]) - 1):.0f} %")
        print("| " + " | ".join(cells + correlations + worsts + errors) + " |")
    print("\n| kernel | step | measured | modelled, as it stands | modelled, fitted |\n|---|---|---|---|---|")
    for t in transitions:
        print(f"| {t['kernel']} | {t['step']} at {t['label']} | {t['plain_seconds'] / t['expert_seconds']:.3f} | "
              + " | ".join(f"{seconds(t['plain_counters'], w) / seconds(t['expert_counters'], w):.3f}" for w in (plain, weights)) + " |")


if __name__ == "__main__":
    main()
