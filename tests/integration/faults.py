"""Faults between a client and a service, for `Proxy.inject`."""

import threading

from tests.integration.proxy import Exchange, Fault, Response, forwarded


def reset(exchange: Exchange) -> None:
    """Reset the connection before the service receives the request."""
    exchange.abort()


def reply_lost(exchange: Exchange) -> None:
    """Forward the request and reset the connection instead of replying."""
    exchange.forward()
    exchange.abort()


def garbage(exchange: Exchange) -> None:
    """Forward the request and reply with malformed JSON."""
    exchange.reply(
        Response(exchange.forward().status, (('Content-Type', 'application/json'),), b'{"loadbal')
    )


def respond(status: int, body: bytes = b'', **headers: str) -> Fault:
    """Return a fault that sends this reply instead of forwarding the request.

    :param headers: names with _ instead of -, e.g. Retry_After='1'.
    """
    named = tuple((name.replace('_', '-'), value) for name, value in headers.items())
    return lambda exchange: exchange.reply(Response(status, named, body))


def held(released: threading.Event) -> Fault:
    """Return a fault that forwards the request after an event."""

    def hold(exchange: Exchange) -> None:
        if exchange.server.wait(released):
            forwarded(exchange)
        else:
            exchange.abort()

    return hold


def hanging(exchange: Exchange) -> None:
    """Neither forward the request nor reply."""
    held(threading.Event())(exchange)


def slow(delay_s: float) -> Fault:
    """Return a fault that forwards the request at once and replies after a delay."""

    def wait(exchange: Exchange) -> None:
        response = exchange.forward()
        exchange.server.closing.wait(delay_s)
        exchange.reply(response)

    return wait
