"""ONNX: a model that was exported by `flgames export RUN --format onnx`, used without flgames and without torch.

pip install onnxruntime && python examples/onnx_inference.py runs/.../export/model.onnx scans/hospital-c/ill/*.png
"""

from __future__ import annotations

import sys

import numpy as np
import onnxruntime
from PIL import Image


def main(model: str, *files: str) -> None:
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    _, channels, height, width = session.get_inputs()[0].shape
    mode = "L" if channels == 1 else "RGB"
    for file in files:
        pixels = np.asarray(Image.open(file).convert(mode).resize((width, height)), dtype=np.float32)
        inputs = pixels.reshape(1, height, width, channels).transpose(0, 3, 1, 2)
        (probabilities,) = session.run(["probabilities"], {"inputs": inputs})
        print(file, probabilities[0].round(3).tolist())


if __name__ == "__main__":
    main(*sys.argv[1:])
