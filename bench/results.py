#!/usr/bin/env python3
"""Makes docs/results/cuda-h200.md from what bench/gpu.sh wrote: python3 bench/results.py FOLDER > docs/results/cuda-h200.md"""
import json
import pathlib
import re
import sqlite3
import sys

folder = pathlib.Path(sys.argv[1])


def text(name):
    path = folder / name
    return path.read_text() if path.exists() else ""


def ranks(values):
    order = sorted(range(len(values)), key=lambda i: values[i])
    rank = [0.0] * len(values)
    for place, index in enumerate(order):
        rank[index] = place
    return rank


def spearman(a, b):
    x, y = ranks(a), ranks(b)
    n = len(x)
    return 1 - 6 * sum((p - q) ** 2 for p, q in zip(x, y)) / (n * (n * n - 1)) if n > 2 else float("nan")


stamp = re.search(r"== (\S+) .*\((.*)\)", text("log.txt"))
print(f"# The cuda device on an H200, {stamp.group(1)[:10] if stamp else 'date unknown'}\n")
print(f"**Measured**: {stamp.group(2) if stamp else 'device unknown'} (name, driver), CUDA 13.0, from the bundle: `bench/gpu.sh OUT`, then `python3 bench/results.py OUT`. "
      "Protocol: [device/cuda.md](../device/cuda.md). Columns named *modelled* are the emulated device's.\n")

tests = text("gpu-tests.txt")
if tests:
    passed = re.search(r"\[  PASSED  \] (\d+)", tests)
    print("## Tests that need a GPU\n")
    print(f"{passed.group(1) if passed else 0} passed, {len(set(re.findall(r'.  FAILED  . (Gpu[.][A-Za-z]+)', tests)))} failed, {len(re.findall(r'SKIPPED  . Gpu[.][A-Za-z]+ ', tests))} skipped.\n")
    for name in sorted(set(re.findall(r"\[  FAILED  \] (Gpu\.\w+)", tests))):
        print(f"- failed: {name}")

equal = sorted(folder.glob("equal_*.json"))
rows = [(path.stem[6:], json.loads(path.read_text())) for path in equal if path.stat().st_size]
rows = [(name, row) for name, row in rows if row["verdicts"]]
if rows:
    print("\n## Equal builds against each other\n")
    print("| kernel | instance | one call | called different | smallest difference (median) | blocks a verdict | resampled | SM clock |")
    print("|---|---|---|---|---|---|---|---|")
    for name, row in rows:
        print(f"| {name} | {row['instance']} | {row['median_seconds'] * 1e6:.1f} us | {row['wrong']} of {row['verdicts']} | {100 * row['median_smallest_difference']:.2f} % | "
              f"{row['blocks_a_verdict']} | {row['resampled_wrong']} of {row['resampled']} | {row['clocks'].get('clock_sm_mhz_low', 0):.0f} to {row['clocks'].get('clock_sm_mhz_high', 0):.0f} MHz |")
    wrong, all_verdicts = sum(r["wrong"] for _, r in rows), sum(r["verdicts"] for _, r in rows)
    resampled_wrong, resampled = sum(r["resampled_wrong"] for _, r in rows), sum(r["resampled"] for _, r in rows)

    def bound(seen, trials):
        from math import exp, lgamma, log, log1p
        low, high = seen / trials, 1.0
        for _ in range(60):
            p = (low + high) / 2
            tail = sum(exp(lgamma(trials + 1) - lgamma(k + 1) - lgamma(trials - k + 1) + k * log(p) + (trials - k) * log1p(-p)) for k in range(seen + 1))
            low, high = (p, high) if tail > 0.05 else (low, p)
        return high

    print(f"\nVerdicts other than `within_noise`, live: {wrong} of {all_verdicts}, {100 * wrong / all_verdicts:.3f} %, upper 95 % bound {100 * bound(wrong, all_verdicts):.2f} %. "
          f"Resampled from the recorded blocks: {resampled_wrong} of {resampled}, {100 * resampled_wrong / resampled:.4f} %, upper 95 % bound {100 * bound(resampled_wrong, resampled):.4f} %.")

counts = json.loads(text("counts.json") or "[]")
measured = [row for row in counts if row.get("cuda") is not None and row.get("emulated") is not None]
if measured:
    print("\n## Counts: the emulated device against CUPTI\n")
    kinds = {}
    for row in measured:
        if row["counter"] != "microseconds":
            kinds.setdefault(row["counter"], []).append(row)
    print("Each expert and its plain form, the same instance on both. Exact means equal to the last digit.\n")
    print("| counter | compared | exact | within 1 % | emulated / CUPTI, lowest to highest | where it differs by more |")
    print("|---|---|---|---|---|---|")
    for counter, of in kinds.items():
        exact = sum(row["emulated"] == row["cuda"] for row in of)
        near = sum(abs(row["emulated"] - row["cuda"]) <= 0.01 * max(row["cuda"], 1) for row in of)
        ratios = [row["emulated"] / row["cuda"] for row in of if row["cuda"]]
        far = [f"{row['kernel']} {row['form']} ({row['emulated']:.6g}, {row['cuda']:.6g})" for row in of if abs(row["emulated"] - row["cuda"]) > 0.01 * max(row["cuda"], 1)]
        print(f"| `{counter}` | {len(of)} | {exact} | {near} | {f'{min(ratios):.3f} to {max(ratios):.3f}' if ratios else ''} | {', '.join(far[:4])}{' and others' if len(far) > 4 else ''} |")
    times = [row for row in counts if row["counter"] == "microseconds"]
    if times:
        print("\n| kernel | form | modelled | measured | modelled / measured | bottleneck, measured |")
        print("|---|---|---|---|---|---|")
        for row in times:
            print(f"| {row['kernel']} | {row['form']} | {row['emulated']:.2f} us | {row['cuda']:.2f} us | {row['emulated'] / row['cuda']:.2f} | {row.get('bottleneck', '')} |")
        print(f"\nRank correlation (Spearman) of modelled and measured times over these: {spearman([r['emulated'] for r in times], [r['cuda'] for r in times]):.3f}.")

corpora = sorted(folder.glob("*.db"))
if corpora:
    print("\n## Experts mined on the card\n")
    for path in corpora:
        said = text(f"mine_{path.stem}.txt").strip().splitlines()
        summary = [line for line in said if re.match(rf"{path.stem}\s", line)]
        print(f"- {summary[-1].strip() if summary else path.stem + ': ' + (said[-1] if said else 'nothing said')}")
    print("\nEach accepted removal, as the speed-up that the step brings forward (time of the simpler form over time of the form with the step):\n")
    print("| kernel | step | at | measured | modelled | simpler, with the step (measured) |")
    print("|---|---|---|---|---|---|")
    pairs = []
    for path in corpora:
        data = sqlite3.connect(path)
        steps = data.execute("SELECT id, step, locus_label FROM transitions WHERE outcome = 'accepted' AND direction = 'simplify' ORDER BY ordinal").fetchall()
        for identity, step, label in steps:
            points = data.execute("SELECT measured, before_seconds, after_seconds FROM effects WHERE owner_kind = 'transition' AND owner = ?", (identity,)).fetchall()
            ratio = {kind: after / before for kind, before, after in points if before > 0}
            shown = [f"{after * 1e6:.2f} us, {before * 1e6:.2f} us" for kind, before, after in points if kind == 1 and before > 0]
            print(f"| {path.stem} | {step} | {label[:40].replace('|', '/')} | {f'{ratio[1]:.3f}' if 1 in ratio else ''} | {f'{ratio[0]:.3f}' if 0 in ratio else ''} | {shown[0] if shown else ''} |")
            if 0 in ratio and 1 in ratio:
                pairs.append((path.stem, step, ratio[0], ratio[1]))
    if len(pairs) > 2:
        worst = max(pairs, key=lambda pair: max(pair[2] / pair[3], pair[3] / pair[2]))
        print(f"\nOver these {len(pairs)} transitions: rank correlation of modelled and measured effect {spearman([p[2] for p in pairs], [p[3] for p in pairs]):.3f}; worst case {worst[0]} {worst[1]}: "
              f"modelled {worst[2]:.3f}, measured {worst[3]:.3f}.")
