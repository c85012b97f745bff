"""FL Games: A Federated Learning Framework for Distribution Shifts.

Sharut Gupta, Kartik Ahuja, Mohammad Havaei, Niladri Chatterjee, Yoshua Bengio, 2022,
https://arxiv.org/abs/2211.00184

Algorithm 1 in one place: ``config`` has its knobs, ``objective`` its losses, ``memory`` the ensemble that a player
answers to, ``schedule`` who moves when, ``client`` and ``server`` the two sides of it.
"""
