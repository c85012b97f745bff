"""The ServerApp of `flwr run`."""

from flgames.engines.flower.server import make_server_app
from flgames.runs.folder import RunFolder


def report(run: RunFolder) -> None:
    from flgames.report.run import write_summary  # when the run has ended: a server need not load figures before

    write_summary(run)


server_app = make_server_app(report)
