#!/usr/bin/env python3
"""Counts of the emulated device against the GPU's own (CUPTI), kernel by kernel, expert and plain form.

    python3 bench/counts.py [--klineage bin/klineage] [--out FOLDER] [KERNEL...]

Both devices run the same instance whole. Prints one table in Markdown and writes counts.json. Needs a GPU for the measured half; with
--emulated-only it prints the emulated half alone.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

ROOT = pathlib.Path(__file__).resolve().parent.parent
# One instance a kernel that both devices can run whole: (axes), chosen so that the emulator ends within seconds.
SHAPES = {
    "row_softmax": {"rows": 256, "columns": 1024},
    "layer_norm": {"rows": 256, "columns": 1024},
    "reduce_sum": {"n": 1048576},
    "transpose": {"rows": 512, "columns": 768},
    "sgemm": {"m": 256, "n": 384, "k": 128},
}
COUNTERS = ["global_load_requests", "global_load_sectors", "global_store_requests", "global_store_sectors", "global_atomic_requests", "shared_load_requests",
            "shared_load_wavefronts", "shared_load_conflicts", "shared_store_requests", "shared_store_wavefronts", "shared_store_conflicts", "instructions", "thread_instructions",
            "blocks", "warps", "branches", "divergent_branches", "l2_read_sectors", "l2_write_sectors", "dram_read_bytes", "dram_write_bytes"]


def folder_of(kernel, scratch):
    """The kernel folder again with one more instance, the same for both devices."""
    source = ROOT / "expert_kernels" / kernel
    target = pathlib.Path(scratch) / kernel
    target.mkdir()
    for file in source.iterdir():
        (target / file.name).write_text(file.read_text())
    workload = json.loads((source / "workload.json").read_text())
    workload["instances"].append({"name": "counted", "axes": SHAPES[kernel], "role": "profile", "devices": ["emulated", "cuda"]})
    (target / "workload.json").write_text(json.dumps(workload))
    return target


def ask(klineage, folder, device, source):
    command = [klineage, "gate", str(folder), "--device", device, "--instance", "counted", "--json", "--seeds", "1"]
    if source:
        command += ["--source", str(source)]
    done = subprocess.run(command, capture_output=True, text=True)
    try:
        verdict = json.loads(done.stdout)
    except json.JSONDecodeError:
        sys.exit(f"{' '.join(command)}: {done.stderr}")
    if not verdict["profile"]:
        print(f"{folder.name} on {device}: {verdict['outcome']} {verdict['reason']} {verdict['detail'][:300]}", file=sys.stderr)
        return None
    return verdict["profile"][0]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kernels", nargs="*")
    parser.add_argument("--klineage", default=str(ROOT / "bin" / "klineage") if (ROOT / "bin" / "klineage").exists() else str(ROOT / "build" / "bin" / "klineage"))
    parser.add_argument("--out", default=os.environ.get("OUT", "."))
    parser.add_argument("--plain", default=str(ROOT / "tests" / "walk" / "lineages") if (ROOT / "tests").exists() else str(ROOT / "plain"))
    parser.add_argument("--emulated-only", action="store_true")
    options = parser.parse_args()
    kernels = options.kernels or list(SHAPES)
    devices = ["emulated"] if options.emulated_only else ["emulated", "cuda"]
    rows = []
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(max_workers=8) as pool:
        os.chmod(scratch, 0o755)
        asked = {}
        for kernel in kernels:
            folder = folder_of(kernel, scratch)
            plain = pathlib.Path(options.plain) / f"{kernel}.plain.cu"
            for form, source in (("expert", None), ("plain", plain)):
                if source and not source.exists():
                    continue
                for device in devices:
                    asked[kernel, form, device] = pool.submit(ask, options.klineage, folder, device, source)
        answers = {key: future.result() for key, future in asked.items()}
    for kernel in kernels:
        for form in ("expert", "plain"):
            points = {device: answers.get((kernel, form, device)) for device in devices}
            if not all(points.values()):
                continue
            counters = {device: point["candidate_counters"] for device, point in points.items()}
            for name in COUNTERS:
                values = [counters[device].get(name) for device in devices]
                if all(value is None for value in values) or not any(values):
                    continue
                rows.append({"kernel": kernel, "form": form, "counter": name, **{device: value for device, value in zip(devices, values)}})
            if points.get("cuda"):
                rows.append({"kernel": kernel, "form": form, "counter": "microseconds", "emulated": points["emulated"]["candidate_seconds"] * 1e6,
                             "cuda": points["cuda"]["candidate_seconds"] * 1e6, "bottleneck": points["cuda"].get("candidate_bottleneck", ""),
                             "unavailable": points["cuda"].get("counters_unavailable", "")})
    pathlib.Path(options.out, "counts.json").write_text(json.dumps(rows, indent=1))
    print("| kernel | form | counter | emulated | " + ("" if options.emulated_only else "CUPTI | emulated / CUPTI |"))
    print("|---|---|---|---|" + ("" if options.emulated_only else "---|---|"))
    for row in rows:
        emulated, measured = row.get("emulated"), row.get("cuda")
        text = f"| {row['kernel']} | {row['form']} | {row['counter']} | {'' if emulated is None else f'{emulated:.6g}'} |"
        if not options.emulated_only:
            ratio = f"{emulated / measured:.4f}" if emulated is not None and measured else ""
            text += f" {'' if measured is None else f'{measured:.6g}'} | {ratio} |"
        print(text)


if __name__ == "__main__":
    main()
