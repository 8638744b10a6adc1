"""Scenarios of simulations, from files or by the names of the shipped ones."""

from placement_worker.simulation.scenario import Scenario, scenario_document, scenario_in


def load_scenario(name: str) -> Scenario:
    return scenario_in(scenario_document(name), name)
