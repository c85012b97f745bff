from __future__ import annotations

import torch

from flgames.data.samples import BatchStream


def test_batches_are_shuffled_epochs_and_pure() -> None:
    stream = BatchStream(10, 4, seed=0, client="a", purpose="moves")
    drawn = torch.cat([stream.batch(number) for number in range(5)])
    assert sorted(drawn[:10].tolist()) == sorted(drawn[10:].tolist()) == list(range(10))
    fresh = BatchStream(10, 4, seed=0, client="a", purpose="moves")
    assert torch.equal(fresh.batch(3), stream.batch(3)), "whatever was drawn before"
    assert torch.equal(stream.batch(0), drawn[:4])
    assert not torch.equal(BatchStream(10, 10, 0, "b", "moves").batch(0), drawn[:10])
    assert len(BatchStream(3, 256, 0, "a", "moves").batch(0)) == 3
