"""Names that the cloud does not know: warnings and errors of checks and attachments."""

import pytest

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.errors import CloudUnavailable, CredentialsRefused, InvalidSpec, ServiceFailed
from placement_worker.handlers.endpoints import Endpoints
from placement_worker.policies import places, shared_placement
from tests.factories import bind, deletion_policy, nodes, region_policy, request, zone_policy

SCALE_IN, SCALE_OUT = 'CLUSTER_SCALE_IN', 'CLUSTER_SCALE_OUT'
KNOWN_ZONES, KNOWN_REGIONS = '; it has "a", "b", "down"', '; it has "R1", "R2"'
REGIONS = {'R1': {'zones': {'a': True, 'down': False}}, 'R2': {'zones': {'b': True}}}


DOWN = ServiceFailed('Nova of R2 is down')


class Partial:
    """A cloud that does not respond to some requests."""

    def __init__(self, *silent, error=DOWN):
        self.silent = silent
        self.error = error
        self.inventory = Inventory.parse({'regions': REGIONS}, 'test')
        self.requests = []

    def __getattr__(self, name):
        return getattr(self.inventory, name)

    def _request(self, *made):
        self.requests.append(made)
        if made in self.silent:
            raise self.error

    def acting_for(self, credentials, project):
        self._request('acting_for')
        return self

    def zones(self, region):
        self._request('zones', region)
        return self.inventory.zones(region)

    def regions(self):
        self._request('regions')
        return self.inventory.regions()


def attach(registry, policy, *silent, **more):
    cloud = Partial(*silent, **more)
    reply = Endpoints(cloud, registry).policy_attach(bind(policy))
    return (reply['status'], reply['reason'], reply['warnings']), cloud


@pytest.mark.parametrize(
    ('policy', 'warnings'),
    [
        (zone_policy('a', 'b', 'down'), []),
        (
            zone_policy('a', 'none'),
            ['The cloud does not know availability zone "none"' + KNOWN_ZONES],
        ),
        (
            zone_policy('down', 'x', 'y'),
            ['The cloud does not know availability zones "x", "y"' + KNOWN_ZONES],
        ),
        (
            zone_policy('a', *(f'x{n}' for n in range(8))),
            [
                'The cloud does not know availability zones "x0", "x1", "x2", "x3", "x4" and 3 more'
                + KNOWN_ZONES
            ],
        ),
        (
            zone_policy('a', 'x\x1b[2J'),
            ['The cloud does not know availability zone "x\\u001b[2J"' + KNOWN_ZONES],
        ),
        (region_policy('R1', 'R2'), []),
        (region_policy('R1', 'R9'), ['The cloud does not know region "R9"' + KNOWN_REGIONS]),
        (
            zone_policy('a', 'dwon'),
            [
                'The cloud does not know availability zone "dwon" (did you mean "down"?)'
                + KNOWN_ZONES
            ],
        ),
    ],
)
def test_attach_with_some_names_known_warns_of_the_others(registry, policy, warnings):
    """A placement policy is attached with a warning of the names that no region knows."""
    answer, _ = attach(registry, policy)

    assert answer == ('OK', 'Policy attached.', warnings)


@pytest.mark.parametrize(
    ('policy', 'reason'),
    [
        (
            zone_policy('x'),
            'The cloud does not know availability zone "x"' + KNOWN_ZONES,
        ),
        (
            zone_policy('x', 'y'),
            'The cloud does not know availability zones "x", "y"' + KNOWN_ZONES,
        ),
        (
            region_policy('R8', 'R9'),
            'The cloud does not know regions "R8", "R9"' + KNOWN_REGIONS,
        ),
    ],
)
def test_attach_with_no_name_known_is_an_error(registry, policy, reason):
    """A placement policy is not attached if the whole cloud knows none of its names."""
    answer, _ = attach(registry, policy)

    assert answer == ('ERROR', reason, [])


@pytest.mark.parametrize(
    ('policy', 'silent'),
    [
        (zone_policy('a', 'x'), ('zones', 'R2')),
        (zone_policy('x'), ('zones', None)),
        (zone_policy('x'), ('regions',)),
        (zone_policy('x'), ('acting_for',)),
    ],
)
def test_attach_with_a_part_of_the_cloud_down_warns(registry, policy, silent):
    """Names that an unreachable service may know cause a warning with the cause, not an error."""
    answer, _ = attach(registry, policy, silent)

    assert answer == (
        'OK',
        'Policy attached.',
        ['Lookup of availability zone "x" failed: Nova of R2 is down'],
    )


@pytest.mark.parametrize('silent', [('regions',), ('acting_for',)])
def test_attach_of_regions_with_keystone_down_warns(registry, silent):
    """A region placement policy is attached with a warning while Keystone is down."""
    answer, _ = attach(registry, region_policy('R1'), silent)

    assert answer == (
        'OK',
        'Policy attached.',
        ['Lookup of region "R1" failed: Nova of R2 is down'],
    )


def test_attach_stops_when_all_names_are_known(registry):
    """No further region is queried once all names are known."""
    _, cloud = attach(registry, zone_policy('a'))

    assert cloud.requests == [('acting_for',), ('zones', None)]


@pytest.mark.parametrize('method', ['policy_attach', 'policy_detach'])
def test_attach_and_detach_of_a_policy_without_names_need_no_cloud(registry, method):
    """A deletion policy is attached and detached while Keystone is down."""
    reply = getattr(Endpoints(Partial(('acting_for',)), registry), method)(bind(deletion_policy()))

    assert (reply['status'], reply['warnings']) == ('OK', [])


def test_attach_with_refused_credentials_is_an_error(registry):
    """Credentials that the cloud refuses end the attachment in ERROR."""
    answer, _ = attach(
        registry, zone_policy('a'), ('acting_for',), error=CredentialsRefused('Not yours')
    )

    assert answer == ('ERROR', 'Not yours', [])


def test_check_with_the_cloud_down_is_an_error(registry):
    """A check that needs the cloud fails while the cloud cannot be reached."""
    asked = request(SCALE_OUT, [zone_policy('a')], nodes(a=1))

    reply = Endpoints(
        Partial(('acting_for',), error=CloudUnavailable('Away')), registry
    ).policy_check(asked)

    assert (reply['action']['data']['status'], reply['action']['data']['reason']) == (
        'ERROR',
        'Away',
    )


@pytest.mark.parametrize(
    ('policies', 'warnings'),
    [
        ([zone_policy('a', 'down')], []),
        (
            [zone_policy('a', 'x')],
            ['The cloud does not know availability zone "x"; it has "a", "down"'],
        ),
        ([region_policy('R1', 'R9')], ['The cloud does not know region "R9"' + KNOWN_REGIONS]),
        ([region_policy('R1', 'R2'), zone_policy('a', 'b')], []),
        (
            [region_policy('R1', 'R2', 'R9'), zone_policy('a', 'b', 'x')],
            [
                'The cloud does not know region "R9"' + KNOWN_REGIONS,
                'The cloud does not know availability zone "x"' + KNOWN_ZONES,
            ],
        ),
        ([region_policy('R1'), zone_policy('a', 'b')], []),
    ],
)
@pytest.mark.parametrize('action', [SCALE_OUT, SCALE_IN])
def test_check_with_unknown_names_warns_of_them(check, action, policies, warnings):
    """A check warns of names unknown to all regions it looked at, unless others may know them."""
    members = [
        {**one, 'data': {'placement': {'zone': zone, 'region_name': region}}}
        for one, (region, zone) in zip(nodes(a=4), [('R1', 'a'), ('R2', 'b')] * 2, strict=True)
    ]
    reply = check(request(action, policies, members, inputs={'count': 2}), regions=REGIONS)

    assert (reply['action']['data']['status'], reply['warnings']) == ('OK', warnings)


def test_check_of_zones_in_the_region_of_the_profile_warns_of_those_unknown_there(check):
    """Zone placement alone warns of zones unknown in the region of the cluster's profile."""
    profile = {'type': 'os.nova.server-1.0', 'properties': {'context': {'region_name': 'R2'}}}
    asked = request(SCALE_OUT, [zone_policy('a', 'b')], [], profile=profile)

    assert check(asked, regions=REGIONS)['warnings'] == [
        'The cloud does not know availability zone "a"; it has "b"'
    ]


def test_check_with_regions_of_another_policy_needs_no_keystone(registry):
    """A check with planned regions succeeds without the warning while Keystone is down."""
    data = {'creation': {'count': 1, 'regions': {'R1': 1}}}
    asked = request(SCALE_OUT, [zone_policy('a', 'x')], [], data=data)

    reply = Endpoints(Partial(('regions',)), registry).policy_check(asked)

    assert (reply['action']['data']['status'], reply['warnings']) == ('OK', [])


def test_unusable_places_are_refused_with_the_usable_ones():
    """The error lists unusable, similar and usable places, and the path of the first unusable."""
    regions = [f'R{n}0' for n in range(9)]
    shared_placement.refuse_unusable('region', 'regions', regions, regions)
    with pytest.raises(InvalidSpec) as refused:
        shared_placement.refuse_unusable(
            'region', 'regions', ['R00', 'Eats', 'R2'], ['East', *regions]
        )

    assert str(refused.value) == (
        'The cloud has no usable region "Eats" (did you mean "East"?), "R2"; '
        'usable: "East", "R00", "R10", "R20", "R30" and 5 more - at `$.spec.properties.regions[1]'
        '.name`'
    )


def test_unusable_places_are_explained_by_what_the_cloud_has():
    """The details tell unknown from unavailable places, and leave out what is empty."""
    known = {'east': False, 'west': False}

    assert places._unusable_details('zones', ['eats', 'west'], known) == {
        'unavailable_zones': 'west',
        'unknown_zones': 'eats (did you mean "east"?)',
        'zones_of_the_cloud': 'east, west',
    }
    assert places._unusable_details('regions', ['R1'], ()) == {'unknown_regions': 'R1'}


@pytest.mark.parametrize(
    ('name', 'known', 'meant'),
    [
        ('az8', ['az1', 'az2', 'az3'], None),
        ('az77', ['az1', 'az7'], None),
        ('az', ['az1'], None),
        ('east-1d', ['east-1a', 'east-1b'], None),
        ('bz1', ['az1'], None),
        ('z1', ['az1', 'az2'], 'az1'),
        ('az-2', ['az1', 'az2'], 'az2'),
        ('eats-1a', ['east-1a', 'east-1b'], 'east-1a'),
        ('nort', ['north', 'south'], 'north'),
    ],
)
def test_hint_suggests_a_misspelled_name_and_no_neighboring_place(name, known, meant):
    """Another number or another last letter means another place, so the guess would mislead."""
    assert places.similar_name(name, known) == (f' (did you mean "{meant}"?)' if meant else '')


def test_unknown_places_in_an_empty_cloud_are_named():
    """The sentence about a cloud without places says so."""
    assert places.unknown_names('region', ['R1'], ()) == (
        'The cloud does not know region "R1"; it has none'
    )


@pytest.mark.parametrize(
    ('known', 'warnings'),
    [
        ({'a': False, 'b': False}, ()),
        ({'a': False}, ('The cloud does not know region "b"; it has "a"',)),
    ],
)
def test_error_without_a_usable_place_warns_of_the_unknown_ones(known, warnings):
    """The warnings name the places that the cloud does not know; unavailable ones need none."""
    error = places.none_usable('None.', 'region', 'regions', ['a', 'b'], known)

    assert (str(error), tuple(error.warnings)) == ('None.', warnings)
    assert error.details == places._unusable_details('regions', ['a', 'b'], known)
