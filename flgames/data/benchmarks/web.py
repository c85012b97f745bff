"""What a server that can't be asked says, in words for people."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import requests


@contextmanager
def asking(what: str) -> Iterator[None]:
    """Every way in which a request fails is an ``OSError`` that says why."""
    try:
        yield
    except requests.exceptions.SSLError:
        raise OSError("its certificate is not trusted here (REQUESTS_CA_BUNDLE can name one)") from None
    except requests.exceptions.ProxyError:
        raise OSError("the proxy does not answer (HTTPS_PROXY)") from None
    except requests.Timeout:
        raise OSError(f"no answer to {what} in time") from None
    except requests.ConnectionError:
        raise OSError("no connection") from None
    except requests.HTTPError as error:  # its own words have the address in them, and an index's may have a password
        status = "with an error" if error.response is None else error.response.status_code
        raise OSError(f"it answers {status} to {what}") from None
    except requests.RequestException as error:
        raise OSError(f"{what} can't be asked for ({type(error).__name__})") from None
