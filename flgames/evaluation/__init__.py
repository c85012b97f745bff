"""What a model is worth: the invariance profile, rates of confusion counts, explanations; and its export."""
