"""What can go wrong between a client and a service; faults for `Proxy.inject`."""

import threading

from tests.integration.proxy import Answer, Exchange, Fault, passed_on


def reset(exchange: Exchange) -> None:
    """The service never saw the request."""
    exchange.abort()


def reply_lost(exchange: Exchange) -> None:
    """The service did what it was asked for, and the connection broke."""
    exchange.forward()
    exchange.abort()


def garbage(exchange: Exchange) -> None:
    """The service did what it was asked for, and the answer is no JSON though it says so."""
    exchange.reply(
        Answer(exchange.forward().status, (('Content-Type', 'application/json'),), b'{"loadbal')
    )


def answered(status: int, body: bytes = b'', **headers: str) -> Fault:
    """The service never saw the request; the client gets this.

    :param headers: with _ for -, e.g. Retry_After='1'.
    """
    named = tuple((name.replace('_', '-'), value) for name, value in headers.items())
    return lambda exchange: exchange.reply(Answer(status, named, body))


def held(released: threading.Event) -> Fault:
    """The service sees the request when the test says so."""

    def hold(exchange: Exchange) -> None:
        if exchange.server.wait(released):
            passed_on(exchange)
        else:
            exchange.abort()

    return hold


def hanging(exchange: Exchange) -> None:
    """The service never sees the request, and nobody answers."""
    held(threading.Event())(exchange)


def slow(delay_s: float) -> Fault:
    """The service is asked at once, and its answer comes late."""

    def wait(exchange: Exchange) -> None:
        answer = exchange.forward()
        exchange.server.closing.wait(delay_s)
        exchange.reply(answer)

    return wait
