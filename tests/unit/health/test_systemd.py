"""Notifications, received by a socket that stands for systemd."""

import socket

from placement_worker.health.systemd import Systemd


def test_from_environment_removes_the_address_and_keeps_the_watchdog_timeout():
    """cotyledon finds no address, so it cannot send READY=1 too early."""
    environment = {'NOTIFY_SOCKET': '@abstract', 'WATCHDOG_USEC': '3000000'}

    systemd = Systemd.from_environment(environment)

    assert 'NOTIFY_SOCKET' not in environment
    assert systemd.watchdog_s == 3


def test_from_environment_with_a_malformed_timeout_has_no_watchdog():
    """A malformed WATCHDOG_USEC does not end the worker."""
    assert Systemd.from_environment({'WATCHDOG_USEC': '3s'}).watchdog_s is None


def test_notify_reaches_a_socket_of_the_abstract_namespace():
    """An address with a leading @ names the abstract namespace of Linux."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as datagrams:
        datagrams.bind('\0placement-worker-test')
        datagrams.settimeout(5)
        Systemd('@placement-worker-test').notify('READY=1')

        assert datagrams.recv(100) == b'READY=1'


def test_notify_without_systemd_sends_and_logs_nothing(caplog):
    """A worker that systemd did not start needs no service manager."""
    Systemd.from_environment({}).notify('READY=1')

    assert caplog.messages == []


def test_notify_without_a_receiver_logs_a_warning(tmp_path, caplog):
    """A service manager that went away does not end the worker."""
    Systemd(str(tmp_path / 'gone')).notify('READY=1')

    (message,) = caplog.messages
    assert message.startswith('Notification READY=1 did not reach systemd: ')
