"""What any federated method needs: messages, clients, a server, the loop, stopping rules, the local federation."""
