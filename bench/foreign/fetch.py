#!/usr/bin/env python3
"""Gets the foreign source packages of docs/results/foreign.md, at their pinned versions, and lays kernel folders out over them.

    bench/foreign/fetch.py                  into build/foreign/
    bench/foreign/fetch.py --with-torch     also the folders whose package's file includes torch's headers (a wheel of 850 MB is fetched, and only its headers are kept)

Each folder beside this file holds a launcher, a workload and a reference of our own; `source` in its copy leads to the unpacked package, `torch` to torch's headers, `python`
to those of the Python that runs this (python3-dev). The index is pip's own.
"""
import hashlib, json, os, pathlib, shutil, subprocess, sys, sysconfig, tarfile, urllib.request, zipfile

PACKAGES = {  # sdist name: version, sha256 of the archive
    "lightseq": ("3.0.1", "3c4da116d240a49538ec6e67d95aab51c55a918ede0736d0da43ca0b64e4507d"),
    "vllm": ("0.9.2", "6b0d855ea8ba18d76364c9b82ea94bfcaa9c9e724055438b5733e4716ed104e1"),
    "causal_conv1d": ("1.7.0", "3202758494eaa7b597ce1c282dfa188889506bfcb92cad3c407d26736bfcd32b"),
    "torch_scatter": ("2.1.2", "69b3aa435f2424ac6a1bfb6ff702da6eb73b33ca0db38fb26989c74159258e47"),
    "torch_cluster": ("1.6.3", "78d5a930a5bbd0d8788df8c6d66addd68d6dd292fe3edb401e3dacba26308152"),
    "auto_gptq": ("0.7.1", "5c61ad380e9b4c603757c254765e9083a90a820cd0aff1b5d2c6f7fd96c85e80"),
    "exllamav2": ("0.0.4", "c9eeba99d817c79a6271c3efb0e54f1c5f046a4cab874210fd3745d46b465f56"),
    "gptqmodel": ("7.7.0", "039874c39fb56ba75b750dd4870968e7fe83b6ca28890a53e94ad3c46be699d0"),
}
TORCH = ("2.8.0", "c12fa219f51a933d5f80eeb3a7a5d0cbe9168c0a14bbb4055f1979431660879b")  # the wheel for CPython 3.11; its headers do not depend on that
HERE = pathlib.Path(__file__).resolve().parent
TARGET = HERE.parent.parent / "build" / "foreign"


def index():
    """The package index that pip itself uses."""
    configured = subprocess.run([sys.executable, "-m", "pip", "config", "get", "global.index-url"], capture_output=True, text=True).stdout.strip()
    if os.environ.get("PIP_INDEX_URL") or configured:
        return os.environ.get("PIP_INDEX_URL") or configured
    from pip._internal.models.index import PyPI
    return PyPI.simple_url


def read(url, accept=None):
    request = urllib.request.Request(url, headers={"Accept": accept} if accept else {})
    return urllib.request.urlopen(request, timeout=300).read()


def checked(path, wanted):
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 24):
            digest.update(block)
    if digest.hexdigest() != wanted:
        sys.exit(f"{path} is not the pinned archive; remove it and run this again")
    return path


def archive(name, version, wanted):
    kept = TARGET / "archives" / f"{name}-{version}.tar.gz"
    if not kept.exists():
        listing = json.loads(read(f"{index().rstrip('/')}/{name.replace('_', '-')}/", "application/vnd.pypi.simple.v1+json"))
        urls = [file["url"] for file in listing["files"] if file["filename"] == kept.name]
        if not urls:
            sys.exit(f"{kept.name} is not on the package index any more")
        kept.parent.mkdir(parents=True, exist_ok=True)
        part = kept.with_suffix(".part")
        part.write_bytes(read(urls[0]))
        part.rename(kept)
    return checked(kept, wanted)


def torch_headers():
    """The include folder of torch's wheel, which pip fetches; nothing else of the wheel is kept."""
    folder = TARGET / f"torch-{TORCH[0]}"
    if not folder.exists():
        print(f"fetching torch {TORCH[0]}", file=sys.stderr)
        kept = TARGET / "archives"
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--platform", "manylinux_2_28_x86_64", "--python-version", "3.11",
                        f"torch=={TORCH[0]}", "-d", kept], check=True)
        wheel = checked(next(kept.glob(f"torch-{TORCH[0]}-*.whl")), TORCH[1])
        part = folder.with_suffix(".part")
        with zipfile.ZipFile(wheel) as packed:
            packed.extractall(part, [name for name in packed.namelist() if name.startswith("torch/include/")])
        part.rename(folder)
        wheel.unlink()
    return folder / "torch" / "include"


def link(place, target):
    if not place.is_symlink():
        place.symlink_to(target)


def main():
    with_torch = "--with-torch" in sys.argv[1:]
    for name, (version, wanted) in PACKAGES.items():
        folder = TARGET / f"{name}-{version}"
        if not folder.exists():
            print(f"fetching {name} {version}", file=sys.stderr)
            with tarfile.open(archive(name, version, wanted)) as packed:
                packed.extractall(TARGET)
    for kernel in sorted(HERE.iterdir()):
        if not kernel.is_dir():
            continue
        needs_torch = "torch" in json.loads((kernel / "workload.json").read_text())["include_folders"]
        if needs_torch and not with_torch:
            print(f"{kernel.name} needs torch's headers: --with-torch lays it out", file=sys.stderr)
            continue
        package = next(name for name in PACKAGES if kernel.name.startswith(name))
        laid = TARGET / "kernels" / kernel.name
        shutil.copytree(kernel, laid, dirs_exist_ok=True)
        link(laid / "source", TARGET / f"{package}-{PACKAGES[package][0]}")
        if needs_torch:
            link(laid / "torch", torch_headers())
            link(laid / "python", sysconfig.get_path("include"))
    print(TARGET / "kernels")


if __name__ == "__main__":
    main()
