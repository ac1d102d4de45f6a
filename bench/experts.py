#!/usr/bin/env python3
"""Times each expert kernel, the plain form that its walk ended at, and PyTorch on one GPU, in one run.

    python3 bench/experts.py [--out FOLDER]

Needs nvcc, PyTorch and a GPU. Every timed call runs with a cold L2 cache (a buffer larger than L2 is written before it, outside the timed
window); times are CUDA events around one call, the median of the rounds (30; 3 where a call takes more than half a second), in microseconds. Results are checked against PyTorch in double
precision first. `copy` moves the same bytes and is the limit for kernels that only read and write.
"""
import argparse
import ctypes
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import torch

ROOT = pathlib.Path(__file__).resolve().parent.parent
ROUNDS = 30


def build(source, folder):
    major, minor = torch.cuda.get_device_capability()
    suffix = "a" if major >= 9 else ""
    arch = f"{major}{minor}{suffix}"
    library = pathlib.Path(folder) / (source.parent.name + "_" + source.name.replace(".", "_") + ".so")
    subprocess.run(["nvcc", "-O3", "-std=c++17", f"-gencode=arch=compute_{arch},code=sm_{arch}", "-shared", "-Xcompiler", "-fPIC",
                    str(source), "-o", str(library)], check=True)
    return ctypes.CDLL(str(library))


def pointer(tensor):
    return ctypes.c_void_p(tensor.data_ptr())


def cold_microseconds(call, flush):
    begun = time.monotonic()
    call()
    torch.cuda.synchronize()
    slow = time.monotonic() - begun > 0.5  # the plain form of a reduction is one thread
    for _ in range(0 if slow else 4):
        call()
    times = []
    for _ in range(3 if slow else ROUNDS):
        flush.add_(1)
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        call()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end) * 1000)
    return statistics.median(times), min(times), max(times)


def cases():
    """name, shape, arguments, output, expected (double), vendor call, bytes moved, floating operations"""
    f = torch.float32
    stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
    for rows, columns in ((8192, 7168), (4096, 4096), (16384, 1024)):
        x = torch.randn(rows, columns, device="cuda", dtype=f)
        y = torch.empty_like(x)
        yield ("row_softmax", f"{rows}x{columns}", (pointer(x), pointer(y), rows, columns, stream), y,
               lambda x=x: torch.softmax(x.double(), 1), lambda x=x: torch.softmax(x, 1), 8 * x.numel(), 0)
        g, b = torch.randn(columns, device="cuda"), torch.randn(columns, device="cuda")
        z = torch.empty_like(x)
        yield ("layer_norm", f"{rows}x{columns}", (pointer(x), pointer(g), pointer(b), pointer(z), rows, columns, ctypes.c_float(1e-5), stream), z,
               lambda x=x, g=g, b=b, c=columns: torch.nn.functional.layer_norm(x.double(), (c,), g.double(), b.double(), 1e-5),
               lambda x=x, g=g, b=b, c=columns: torch.nn.functional.layer_norm(x, (c,), g, b, 1e-5), 8 * x.numel(), 0)
    n = 1 << 28
    x = torch.rand(n, device="cuda", dtype=f)
    partials, total = torch.empty(1024, device="cuda"), torch.empty(1, device="cuda")
    yield ("reduce_sum", f"{n}", (pointer(x), pointer(partials), pointer(total), ctypes.c_longlong(n), stream), total,
           lambda: x.double().sum().reshape(1), lambda: torch.sum(x), 4 * n, 0)
    x = torch.randn(8192, 8192, device="cuda", dtype=f)
    y = torch.empty_like(x)
    yield ("transpose", "8192x8192", (pointer(x), pointer(y), 8192, 8192, stream), y, lambda: x.double().t().contiguous(), lambda: x.t().contiguous(), 8 * x.numel(), 0)
    m = 4096
    a, b = torch.randn(m, m, device="cuda"), torch.randn(m, m, device="cuda")
    c = torch.empty_like(a)
    yield ("sgemm", f"{m}x{m}x{m}", (pointer(a), pointer(b), pointer(c), m, m, m, stream), c, lambda: a.double() @ b.double(), lambda: a @ b, 12 * m * m, 2 * m**3)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", default=os.environ.get("OUT", "."))
    out = pathlib.Path(parser.parse_args().out)
    torch.backends.cuda.matmul.allow_tf32 = False
    flush = torch.zeros(256 << 20, dtype=torch.uint8, device="cuda")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        libraries = {}
        for name, shape, arguments, output, expected, vendor, moved, operations in cases():
            wanted = expected()
            row = {"kernel": name, "shape": shape}
            forms = {"expert": ROOT / "expert_kernels" / name / "kernel.cu", "plain": ROOT / "tests" / "walk" / "lineages" / f"{name}.plain.cu"}
            for form, source in forms.items():
                if (form, name) not in libraries:
                    libraries[form, name] = build(source, folder)
                entry = getattr(libraries[form, name], name)
                call = lambda entry=entry: entry(*arguments)
                output.fill_(float("nan"))
                call()
                torch.cuda.synchronize()
                error = (output.double() - wanted).norm() / wanted.norm()
                row[form + "_error"] = error.item()
                row[form] = cold_microseconds(call, flush)
            row["vendor"] = cold_microseconds(vendor, flush)
            source, target = torch.empty(moved // 2, dtype=torch.uint8, device="cuda"), torch.empty(moved // 2, dtype=torch.uint8, device="cuda")
            row["copy"] = cold_microseconds(lambda: target.copy_(source), flush)
            row["gigabytes_per_second"] = moved / row["expert"][0] / 1000
            row["teraflops"] = operations / row["expert"][0] / 1e6
            rows.append(row)
            del source, target, wanted
    device = torch.cuda.get_device_name()
    driver = subprocess.run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"], capture_output=True, text=True).stdout.strip()
    (out / "experts.json").write_text(json.dumps({"device": device, "driver": driver, "torch": torch.__version__, "rows": rows}, indent=1))
    print(f"{device}, driver {driver}, PyTorch {torch.__version__}; cold L2, median of {ROUNDS}, microseconds")
    print("| kernel | shape | expert | plain | PyTorch | copy of the bytes | expert / PyTorch speed | share of the copy | error |")
    print("|---|---|---|---|---|---|---|---|---|")
    for r in rows:
        print(f"| {r['kernel']} | {r['shape']} | {r['expert'][0]:.1f} | {r['plain'][0]:.1f} | {r['vendor'][0]:.1f} | {r['copy'][0]:.1f} | "
              f"{r['vendor'][0] / r['expert'][0]:.2f} | {r['copy'][0] / r['expert'][0]:.2f}"
              + (f" ({r['teraflops']:.1f} TFLOP/s)" if r["teraflops"] else "") + f" | {r['expert_error']:.1e}, plain {r['plain_error']:.1e} |")
    bad = [r["kernel"] for r in rows if not (r["expert_error"] < 1e-5 and r["plain_error"] < 1e-5)]
    if bad:
        sys.exit("wrong results: " + ", ".join(bad))


if __name__ == "__main__":
    main()
