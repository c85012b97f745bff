"""FL Games: federated learning whose model keeps working on clients it has never seen."""

__version__ = "0.1.0"
