"""Networks: how they are declared, built, standardised and put together as an ensemble."""
