"""The number of processes of the worker that died."""

from prometheus_client import CollectorRegistry

from placement_worker.metrics.process_deaths import ProcessDeaths


def test_deaths_of_processes_are_counted_from_zero():
    """The series exists before the first death, so that an alert observes it."""
    registry, deaths = CollectorRegistry(), ProcessDeaths()
    registry.register(deaths)
    assert registry.get_sample_value('placement_worker_process_deaths_total') == 0

    deaths.count()
    deaths.count()

    assert registry.get_sample_value('placement_worker_process_deaths_total') == 2
