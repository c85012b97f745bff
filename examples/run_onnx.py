"""ONNX: a model that `flgames export RUN --format onnx` wrote, used without flgames and without torch.

pip install onnxruntime pandas pillow && python examples/run_onnx.py export/model.onnx scans/hospital-c/ill/*.png
"""

from __future__ import annotations

import json
import sys

import numpy as np
import onnxruntime
from PIL import Image

session = onnxruntime.InferenceSession(sys.argv[1], providers=["CPUExecutionProvider"])
told = {name: json.loads(value) for name, value in session.get_modelmeta().custom_metadata_map.items()}
if "columns" in told:  # a table: numbers with NaN where a cell is empty, and words as they are
    import pandas

    rows = pandas.read_csv(sys.argv[2])
    inputs = {"inputs": rows[told["inputs"]].to_numpy(np.float32)} if told["inputs"] else {}
    inputs |= {"words": rows[told["words"]].fillna("").to_numpy(str)} if told.get("words") else {}
else:  # images: pixels as they are in the files
    _, channels, height, width = session.get_inputs()[0].shape
    images = [
        Image.open(name).convert("L" if channels == 1 else "RGB").resize((width, height)) for name in sys.argv[2:]
    ]
    pixels = np.asarray([np.asarray(image).reshape(height, width, channels) for image in images], np.float32)
    inputs = {"inputs": pixels.transpose(0, 3, 1, 2)}
for probabilities in session.run(["probabilities"], inputs)[0]:
    print(told["classes"][probabilities.argmax()], probabilities.round(3).tolist())
