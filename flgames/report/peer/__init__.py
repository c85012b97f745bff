"""One round of FedAvg in other frameworks, each as its documentation says. Every file is a program for a process of
its own, ``python -m flgames.report.peer.NAME KIND CLIENTS ROUNDS``, which prints the seconds of every round."""
