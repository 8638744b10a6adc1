"""Exemplars of several processes."""

from prometheus_client.metrics_core import Metric
from prometheus_client.samples import Exemplar, Sample

from placement_worker.metrics import exemplars
from placement_worker.metrics.exemplars import Exemplars, Key

KEY = Key.of('bucket', {'le': '0.1', 'action': 'a'})
OTHER = Key.of('bucket', {'le': '0.5', 'action': 'a'})


def exemplar(request_id, at):
    return Exemplar({'request_id': request_id}, 0.05, at)


def test_the_last_one_of_all_processes_is_read_whichever_wrote_last(tmp_path):
    first, second = Exemplars(), Exemplars()
    first.put(KEY, exemplar('req-1', 3.0))
    first.put(OTHER, exemplar('req-2', 1.0))
    second.put(KEY, exemplar('req-3', 2.0))

    for number, one in enumerate((first, second)):
        one.write(str(tmp_path), number)

    assert exemplars.read(str(tmp_path)) == {
        KEY: exemplar('req-1', 3.0),
        OTHER: exemplar('req-2', 1.0),
    }


def test_a_new_one_takes_the_place_of_the_old_one(tmp_path):
    one = Exemplars()
    one.put(KEY, exemplar('req-1', 1.0))
    one.write(str(tmp_path), 0)
    one.put(KEY, exemplar('req-2', 2.0))
    one.write(str(tmp_path), 0)

    assert exemplars.read(str(tmp_path)) == {KEY: exemplar('req-2', 2.0)}


def test_nothing_is_written_while_nothing_is_new(tmp_path):
    one = Exemplars()
    one.put(KEY, exemplar('req-1', 1.0))
    one.write(str(tmp_path), 0)
    (file,) = tmp_path.iterdir()
    file.unlink()

    one.write(str(tmp_path), 0)

    assert list(tmp_path.iterdir()) == []


def test_each_sample_gets_its_own_and_others_none():
    metric = Metric('m', 'told', 'histogram')
    metric.add_sample('bucket', {'action': 'a', 'le': '0.1'}, 1)
    metric.add_sample('bucket', {'action': 'b', 'le': '0.1'}, 1)

    exemplars.attach(metric, {KEY: exemplar('req-1', 1.0)})

    assert metric.samples == [
        Sample('bucket', {'action': 'a', 'le': '0.1'}, 1, exemplar=exemplar('req-1', 1.0)),
        Sample('bucket', {'action': 'b', 'le': '0.1'}, 1),
    ]
