"""The table of privileges of the manual, doc/source/privileges.csv."""

import csv
import re
from dataclasses import dataclass
from pathlib import Path

PAGE = Path(__file__).parents[2] / 'doc' / 'source' / 'privileges.csv'
# The service by the first part of a rule's name.
SERVICES = {
    'identity': 'keystone',
    'os_compute_api': 'nova',
    'get_network': 'neutron',
    'get_subnet': 'neutron',
    'os_load-balancer_api': 'octavia',
}


@dataclass(frozen=True)
class Row:
    """A request of a worker.

    :ivar rules: the rules that the service checks; empty for a login.
    :ivar role: the least role that all of them accept.
    """

    method: str
    path: str
    rules: tuple[str, ...]
    role: str

    @property
    def service(self) -> str:
        return SERVICES[self.rules[0].partition(':')[0]]

    def matches(self, request: str) -> bool:
        """Return whether this is the row of a request, such as `GET /v3/regions`."""
        method, target = request.split(' ', 1)
        path, _, query = target.partition('?')
        wanted, _, parameter = self.path.partition('?')
        return (
            method == self.method
            and re.fullmatch(wanted.replace('ID', '[^/]+'), path) is not None
            and ('all_tenants=1' in query) == bool(parameter)
        )


def rows() -> list[Row]:
    """Return the rows of the table."""
    with PAGE.open(encoding='utf-8', newline='') as file:
        table = list(csv.reader(file))[1:]
    return [_row([_plain(cell) for cell in cells]) for _, *cells in table]


def _plain(cell: str) -> str:
    return ' '.join(cell.replace('``', '').split())


def _row(cells: list[str]) -> Row:
    request, rules, role, _ = cells
    method, _, path = request.partition(' ')
    return Row(method, path, tuple(rules.split(', ')) if rules else (), role)
