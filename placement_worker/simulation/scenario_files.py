"""Scenario files: find, read and check them."""

from collections.abc import Collection, Iterator, Mapping
from importlib import resources
from pathlib import Path

from placement_worker.cloud.embedded.inventory import Region
from placement_worker.contract import codec, document_kinds, schema_errors
from placement_worker.contract.schema_errors import SchemaError
from placement_worker.formats import documents, paths
from placement_worker.formats.documents import Document
from placement_worker.policies.places import similar_name, unknown_names
from placement_worker.simulation.scenario import InvalidScenario, Scenario, Step

CORRECT = '; correct the file'


def shipped() -> dict[str, Path]:
    """Return the scenarios of this package: name -> file."""
    folder = Path(str(resources.files('placement_worker') / 'examples' / 'scenarios'))
    return {path.stem: path for path in sorted(folder.glob('*.yaml'))}


def load(name: str) -> Scenario:
    """Read a scenario from a file, or a shipped scenario.

    :raises InvalidScenario: the file holds no valid scenario, or the name is unknown.
    :raises OSError: the file cannot be read.
    :raises Malformed: the file is neither YAML nor JSON.
    """
    found = documents.read(str(_found(name)))
    if len(found) > 1:
        raise InvalidScenario(
            f'{name} contains {len(found)} documents; use one document per scenario'
        )
    scenario = _decoded(found[0], name)
    unknown = list(_unknown_places(scenario))
    if unknown:
        invalid = found[0].invalid(unknown)
        raise InvalidScenario(f'{name} names unknown places: {invalid}{CORRECT}') from invalid
    return scenario


def _decoded(document: Document, name: str) -> Scenario:
    other = document_kinds.other_kind(document.data, document_kinds.SCENARIO)
    if other:
        raise InvalidScenario(f'{name} is not a scenario: it is {other}')
    wrong = list(schema_errors.all_errors(document.data, Scenario))
    if wrong:
        invalid = document.invalid(wrong)
        raise InvalidScenario(f'{name} is not a scenario: {invalid}{CORRECT}') from invalid
    return codec.decode(document.data, Scenario)


def _unknown_places(scenario: Scenario) -> Iterator[SchemaError]:
    """Yield an error per place in a step that neither the cloud nor the policies contain."""
    regions = _regions(scenario)
    zones, hints = _zones(scenario, regions)
    listed = set(_listed(scenario))
    for path, step in _steps(scenario.steps, ('steps',)):
        for key in ('lose_zone', 'exhaust', 'restore_zone'):
            zone = getattr(step, key)
            if zone is not None and zone not in zones:
                text = hints.get(zone) or unknown_names('zone', [zone], zones)
                yield SchemaError((*path, key), text)
        for key in ('lose_region', 'restore_region'):
            region = getattr(step, key)
            if region is not None and region not in regions:
                text = unknown_names('region', [region], regions)
                yield SchemaError((*path, key), text)
        yield from _unknown_cordoned_places(step, path, zones, regions)
        for key in ('weights', 'caps'):
            for name in getattr(step, key) or {}:
                if name not in listed:
                    text = f'No policy lists place "{name}"{similar_name(name, listed)}'
                    yield SchemaError((*path, key, name), text, of_key=True)


def _unknown_cordoned_places(
    step: Step, path: paths.Path, zones: Collection[str], regions: Collection[str]
) -> Iterator[SchemaError]:
    for key in ('cordon', 'uncordon'):
        place = getattr(step, key)
        for kind, known in (('zone', zones), ('region', regions)):
            name = getattr(place, kind, None)
            if name is not None and name not in known:
                text = unknown_names(kind, [name], known)
                yield SchemaError((*path, key, kind), text)


def _regions(scenario: Scenario) -> Mapping[str, Region]:
    known = scenario.inventory.region_map
    return known if isinstance(known, dict) else {name: Region() for name in known}


def _zones(scenario: Scenario, regions: Mapping[str, Region]) -> tuple[set[str], Mapping[str, str]]:
    """Return the valid names of zones, and an error for each zone named with the wrong region."""
    shared = scenario.inventory.zone_list
    zones = set(shared)
    hints: dict[str, str] = {}
    for name, region in regions.items():
        zones |= {zone for own in region.zones or () for zone in (own, f'{name}/{own}')}
        if region.zones is None:
            hints |= {
                f'{name}/{zone}': f'Region {name} has no zones of its own; name zone {zone}, or '
                'add zones to the region'
                for zone in shared
            }
    return zones, hints


def _listed(scenario: Scenario) -> Iterator[str]:
    """Yield the names of the places in the policies."""
    for binding in scenario.policies:
        for places in binding.spec.properties.values():
            for place in places if isinstance(places, list) else ():
                if isinstance(place, dict) and isinstance(place.get('name'), str):
                    yield place['name']


def _steps(steps: list[Step], path: paths.Path) -> Iterator[tuple[paths.Path, Step]]:
    """Yield all steps of the file with their paths, nested ones as well."""
    for index, step in enumerate(steps):
        yield (*path, index), step
        yield from _steps(step.steps or [], (*path, index, 'steps'))


def _found(name: str) -> Path | str:
    if name == '-' or Path(name).exists():
        return name
    if name in shipped():
        return shipped()[name]
    names = shipped()
    raise InvalidScenario(
        f'{name}: no such file{similar_name(name, names)}; name a file or a shipped scenario: '
        f'{", ".join(names)}'
    )
