"""What any federated method needs: messages, clients, a server, the loop, rules that stop it, and the local federation."""
