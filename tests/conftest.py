from __future__ import annotations

import torch

# Toy matrices: a second thread would only wait for the first.
torch.set_num_threads(1)
