"""FL Games with the manners of scikit-learn."""
