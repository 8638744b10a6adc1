"""Names that the cloud does not know: warnings and errors of checks and attachments."""

from types import SimpleNamespace

import pytest

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.contract.model import Spec
from placement_worker.errors import InvalidSpec, ServiceFailed
from placement_worker.handlers.service import Endpoints
from placement_worker.policies import place_names
from placement_worker.policies.placement_properties import Region, RegionPlacementProperties
from placement_worker.policies.region_placement import RegionPlacement
from tests.factories import bind, deletion_policy, nodes, region_policy, request, zone_policy

SCALE_IN, SCALE_OUT = 'CLUSTER_SCALE_IN', 'CLUSTER_SCALE_OUT'
KNOWN_ZONES, KNOWN_REGIONS = '; it has "a", "b", "down"', '; it has "R1", "R2"'
REGIONS = {'R1': {'zones': {'a': True, 'down': False}}, 'R2': {'zones': {'b': True}}}
DOWN = ServiceFailed('Nova of R2 is down')


class Partial:
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


ZONE = 'The cloud does not know availability zone{}' + KNOWN_ZONES
REGION = 'The cloud does not know region{}' + KNOWN_REGIONS
FAILED = 'Lookup of {} failed: Nova of R2 is down'
OF_X = FAILED.format('availability zone "x"')


@pytest.mark.parametrize(
    ('policy', 'silent', 'warnings'),
    [
        (zone_policy('a', 'b', 'down'), None, []),
        (zone_policy('a', 'none'), None, [ZONE.format(' "none"')]),
        (zone_policy('down', 'x', 'y'), None, [ZONE.format('s "x", "y"')]),
        (zone_policy('a', *(f'x{n}' for n in range(8))), None,
         [ZONE.format('s "x0", "x1", "x2", "x3", "x4" and 3 more')]),
        (zone_policy('a', 'x\x1b[2J'), None, [ZONE.format(' "x\\u001b[2J"')]),
        (zone_policy('a', 'dwon'), None, [ZONE.format(' "dwon" (did you mean "down"?)')]),
        (region_policy('R1', 'R2'), None, []),
        (region_policy('R1', 'R9'), None, [REGION.format(' "R9"')]),
        (zone_policy('a', 'x'), ('zones', 'R2'), [OF_X]),
        (zone_policy('x'), ('zones', None), [OF_X]),
        (zone_policy('x'), ('regions',), [OF_X]),
        (zone_policy('x'), ('acting_for',), [OF_X]),
        (region_policy('R1'), ('regions',), [FAILED.format('region "R1"')]),
    ],
)  # fmt: skip
def test_attach_with_some_names_known_or_not_looked_up_warns_of_the_others(
    registry, policy, silent, warnings
):
    """Names that no region knows, and names that an unreachable service may know, cause warnings,
    not an error.
    """
    assert attach(registry, policy, silent)[0] == ('OK', 'Policy attached.', warnings)


@pytest.mark.parametrize(
    ('policy', 'reason'),
    [
        (zone_policy('x'), ZONE.format(' "x"')),
        (region_policy('R8', 'R9'), REGION.format('s "R8", "R9"')),
    ],
)
def test_attach_with_no_name_known_is_an_error(registry, policy, reason):
    """A placement policy is not attached if the whole cloud knows none of its names."""
    assert attach(registry, policy)[0] == ('ERROR', reason, [])


@pytest.mark.parametrize(('zone', 'regions'), [('a', [None]), ('b', [None, 'R1', 'R2'])])
def test_attach_stops_when_all_names_are_known(registry, zone, regions):
    """A zone may be in any region; no further region is queried once all names are known."""
    _, attached = attach(registry, zone_policy(zone))
    validated = Partial()
    registry.policy(Spec(**zone_policy(zone)['spec']), '$').check_resources(validated)

    assert (('regions',) in attached.requests) == (zone == 'b')
    for cloud in (attached, validated):
        assert [made[1] for made in cloud.requests if made[0] == 'zones'] == regions


@pytest.mark.parametrize('method', ['policy_attach', 'policy_detach'])
def test_attach_and_detach_of_a_policy_without_names_need_no_cloud(registry, method):
    """A deletion policy is attached and detached while Keystone is down."""
    reply = getattr(Endpoints(Partial(('acting_for',)), registry), method)(bind(deletion_policy()))

    assert (reply['status'], reply['warnings']) == ('OK', [])


@pytest.mark.parametrize(
    ('policies', 'warnings'),
    [
        ([zone_policy('a', 'down')], []),
        ([zone_policy('a', 'x')], [ZONE.format(' "x"').replace('"b", ', '')]),
        ([region_policy('R1', 'R9')], [REGION.format(' "R9"')]),
        ([region_policy('R1', 'R2'), zone_policy('a', 'b')], []),
        (
            [region_policy('R1', 'R2', 'R9'), zone_policy('a', 'b', 'x')],
            [REGION.format(' "R9"'), ZONE.format(' "x"')],
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
    cloud = SimpleNamespace(regions=lambda: ['East', *regions])
    of_regions = [
        RegionPlacement(RegionPlacementProperties(places=[*map(Region, names)]))
        for names in (regions, ['R00', 'Eats', 'R2'])
    ]
    of_regions[0].check_resources(cloud)
    with pytest.raises(InvalidSpec) as refused:
        of_regions[1].check_resources(cloud)

    assert str(refused.value) == (
        'The cloud has no usable region "Eats" (did you mean "East"?), "R2"; '
        'usable: "East", "R00", "R10", "R20", "R30" and 5 more - at `$.spec.properties.regions[1]'
        '.name`'
    )


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
    assert place_names.similar_name(name, known) == (f' (did you mean "{meant}"?)' if meant else '')
