"""A site whose flgames was changed by its owner: it lies as a file beside it says, and is honest while there is none.

``sitecustomize`` is imported by every Python process that has its folder on the path, before anything else.
"""

from __future__ import annotations

import os
from pathlib import Path

LIE = "lie"

CHANGED = """
import importlib.abc, importlib.machinery, pathlib, sys

LIE = pathlib.Path(__file__).with_name("lie")

def lied(reply, lie):
    import torch
    from flgames.engines.wire import pack, unpack
    header, tensors = unpack(reply)
    if lie == "counts" and "samples" in header.get("numbers", {}):
        return pack(header | {"numbers": header["numbers"] | {"samples": 10**18}}, tensors)
    if lie in ("1e30", "nan") and any(each.is_floating_point() for each in tensors.values()):
        return pack(header, {name: torch.full_like(each, float(lie)) for name, each in tensors.items()})
    return reply

class Changed(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name != "flgames.engines.host":
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        execute = spec.loader.exec_module
        def exec_module(module):
            execute(module)
            honest = module.Host.handle
            def handle(self, *asked):
                reply = honest(self, *asked)
                return lied(reply, LIE.read_text()) if LIE.exists() else reply
            module.Host.handle = handle
        spec.loader.exec_module = exec_module
        return spec

sys.meta_path.insert(0, Changed())
"""


class Liar:
    """The folder that makes a site lie, and the lie that it tells now."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        (folder / "sitecustomize.py").write_text(CHANGED)

    @property
    def environment(self) -> dict[str, str]:
        """Of the site's processes."""
        return {"PYTHONPATH": os.pathsep.join(filter(None, (str(self.folder), os.environ.get("PYTHONPATH"))))}

    def lies(self, lie: str) -> None:
        (self.folder / LIE).write_text(lie)

    def is_honest(self) -> None:
        (self.folder / LIE).unlink(missing_ok=True)
