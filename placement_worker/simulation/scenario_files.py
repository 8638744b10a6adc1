"""Scenario files: find, read and check them."""

from collections.abc import Iterator, Mapping
from importlib import resources
from pathlib import Path

from placement_worker.cloud.embedded.inventory import Region
from placement_worker.contract import codec, document_kinds, schema_errors
from placement_worker.formats import documents
from placement_worker.formats.documents import Document
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
    unknown = sorted(set(_unknown_names(scenario)))
    if unknown:
        raise InvalidScenario(f'{name} names unknown places: {", ".join(unknown)}{CORRECT}')
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


def _unknown_names(scenario: Scenario) -> Iterator[str]:
    """Yield the places in steps that neither the cloud nor the policies contain."""
    regions = _regions(scenario)
    zones, hints = _zones(scenario, regions)
    listed = set(_listed(scenario))
    for step in _steps(scenario.steps):
        for zone in (step.lose_zone, step.restore_zone):
            if zone is not None and zone not in zones:
                yield f'zone {zone}{hints.get(zone, "")}'
        for region in (step.lose_region, step.restore_region):
            if region is not None and region not in regions:
                yield f'region {region}'
        for name in {**(step.weights or {}), **(step.caps or {})}:
            if name not in listed:
                yield f'place {name} in a policy'


def _regions(scenario: Scenario) -> Mapping[str, Region]:
    known = scenario.inventory.region_map
    return known if isinstance(known, dict) else {name: Region() for name in known}


def _zones(scenario: Scenario, regions: Mapping[str, Region]) -> tuple[set[str], Mapping[str, str]]:
    """Return the valid names of zones, and a hint for each zone named with the wrong region."""
    shared = scenario.inventory.zone_list
    zones = set(shared)
    hints: dict[str, str] = {}
    for name, region in regions.items():
        zones |= {zone for own in region.zones or () for zone in (own, f'{name}/{own}')}
        if region.zones is None:
            cause = f'region {name} has no zones of its own'
            hints |= {
                f'{name}/{zone}': f' ({cause}; name zone {zone}, or add zones to the region)'
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


def _steps(steps: list[Step]) -> Iterator[Step]:
    """Yield all steps of the file, nested ones as well."""
    for step in steps:
        yield step
        yield from _steps(step.steps or [])


def _found(name: str) -> Path | str:
    if name == '-' or Path(name).exists():
        return name
    if name in shipped():
        return shipped()[name]
    raise InvalidScenario(
        f'{name}: no such file; name a file or a shipped scenario: {", ".join(shipped())}'
    )
