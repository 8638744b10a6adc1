"""Records of decisions."""

import gzip
import json
import math
import os
import resource
import threading

import msgspec

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.cloud.ports import OctaviaSettings
from placement_worker.contract.model import CheckRequest, Package
from placement_worker.decisions.records import DecisionLog, Entry, LogFile, LogReader
from placement_worker.errors import InvalidRequest
from placement_worker.handlers.decision_state import Conditions
from placement_worker.handlers.service import Endpoints, WorkerSettings
from placement_worker.policies.registry import Registry
from tests.factories import NOW, bind, request, zone_policy
from tests.unit.decisions.conftest import shrinking_at_random
from tests.unit.policies.good_policy import Good


def test_record_holds_request_answers_version_and_reply(decide):
    """A line holds everything that a replay needs, and the reply."""
    line, reply = decide(shrinking_at_random())

    logged = json.loads(line)
    assert line.endswith(b'\n')
    assert line.count(b'\n') == 1
    assert list(logged) == list(Entry.__struct_encode_fields__)
    shown = logged['request_id'], logged['method'], logged['max_nodes']
    assert shown == ('req-1', 'policy_check', 1000)
    assert logged['reply'] == reply
    assert logged['request']['cluster']['nodes'][3]['physical_id'] == 's1'
    assert logged['cloud'][:3] == [
        {'asked': 'acting_for', 'of': ['p1'], 'answer': None},
        {'asked': 'home_region', 'of': [], 'answer': None},
        {'asked': 'regions', 'of': [], 'answer': ['R1', 'R2']},
    ]


def test_record_that_cannot_be_encoded_is_reported_and_raises_nothing(caplog):
    """A decision that cannot be recorded is reported in the log; its caller gets the reply."""
    lines, deep = [], {}
    for _ in range(100_000):
        deep = {'a': deep}
    asked = msgspec.convert(request('NODE_CREATE', []), CheckRequest)

    conditions = Conditions(Inventory(), OctaviaSettings(), 1, NOW, left_s=lambda: math.inf)
    log = DecisionLog(lines.append, None, {})
    assert log('policy_check', asked, 'req-1', conditions, lambda _: deep) is deep

    assert lines == []
    assert 'Failed to record the decision of request req-1: ' in caplog.text


def test_record_names_the_packages_of_the_policies_with_their_versions(registry):
    """The record names the code of a plugin that decided, also after a fix within the same type."""
    lines = []
    packages = {'test.good-1.0': Package('acme', '2.1'), 'test.good-1.1': Package('later', '1')}
    own = type('Own', (Good,), {'interface': (2, 0)})
    types = Registry([*registry.types.items(), ('test.good-1.0', own)])
    log = DecisionLog(lines.append, None, packages)
    worker = Endpoints(
        Inventory.parse({'zones': {'a': True}}, 'test'), types, WorkerSettings(recorder=log)
    )
    good = {'id': 'p', 'spec': {'type': 'test.good', 'version': 1.0}}
    disabled = {'id': 'q', 'enabled': False, 'spec': {'type': 'test.good', 'version': '1.1'}}

    worker.policy_check(request('CLUSTER_SCALE_OUT', [good, disabled, zone_policy('a')]))
    worker.policy_attach(bind(good))
    worker.policy_check(request('CLUSTER_SCALE_OUT', [zone_policy('a')]))

    assert [json.loads(line)['packages'] for line in lines] == [['acme 2.1'], ['acme 2.1'], []]


def test_append_from_processes_and_threads_keeps_lines_whole(tmp_path):
    """Concurrent appends do not interleave the bytes of lines."""
    path = tmp_path / 'log'
    files = [LogFile(str(path)) for _ in range(2)]  # one descriptor each, as in two processes
    lines = {f'{n}-'.encode() + b'x' * 20000 + b'\n' for n in range(200)}
    turns = [list(lines)[i::4] for i in range(4)]

    writers = [
        threading.Thread(target=lambda i=i: [files[i % 2].append(line) for line in turns[i]])
        for i in range(4)
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()

    assert set(path.read_bytes().splitlines(keepends=True)) == lines


def test_append_after_a_rotation_creates_the_file_again(tmp_path):
    """A moved file is created again, readable by owner and group only."""
    path = tmp_path / 'log'
    before = os.umask(0o022)
    log = LogFile(str(path))
    os.umask(before)
    log.append(b'1\n')
    path.rename(tmp_path / 'log.1')
    log.append(b'2\n')
    path.rename(tmp_path / 'log.2')
    path.write_bytes(b'another process created it\n')
    log.append(b'3\n')

    assert path.read_bytes() == b'another process created it\n3\n'
    assert [(tmp_path / f'log.{n}').read_bytes() for n in (1, 2)] == [b'1\n', b'2\n']
    assert (tmp_path / 'log.1').stat().st_mode & 0o777 == 0o640


def test_append_to_a_deleted_folder_is_logged_once(tmp_path, caplog):
    """A deleted folder is logged once, and no append raises."""
    folder = tmp_path / 'folder'
    folder.mkdir()
    log = LogFile(str(folder / 'log'))
    (folder / 'log').unlink()
    folder.rmdir()

    log.append(b'1\n')
    log.append(b'2\n')
    folder.mkdir()
    log.append(b'3\n')

    assert (folder / 'log').read_bytes() == b'3\n'
    assert [record.getMessage() for record in caplog.records] == [
        f'Failed to write the decision log: {folder / "log"}: No such file or directory',
        f'The decision log can be written again: {folder / "log"}',
    ]


def test_append_to_a_full_disk_damages_no_line_but_its_own(tmp_path):
    """The first line that fits again is whole, whichever process was cut off and which is first."""
    path = tmp_path / 'log'
    files = [LogFile(str(path)) for _ in range(2)]  # one descriptor each, as in two processes
    _, hard = limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4, hard))
    try:
        for file in [*files, *files]:
            file.append(b'cut off\n')
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)

    for line, file in zip((b'1\n', b'2\n', b'3\n', b'4\n'), [*files[::-1], *files], strict=True):
        file.append(line)

    assert [line for line in path.read_bytes().splitlines() if line] == [
        b'cut ',
        *(b'1', b'2', b'3', b'4'),
    ]


def test_entries_of_plain_and_compressed_logs_report_malformed_lines(decide, tmp_path):
    """Compressed logs are read too; a malformed line is returned as an error."""
    line, _ = decide(request('CLUSTER_UPDATE', []))
    plain, compressed = tmp_path / 'log', tmp_path / 'log.1.gz'
    plain.write_bytes(line + b'\n{"at": \n' + line)
    compressed.write_bytes(gzip.compress(line))

    reader = LogReader(str(plain))
    found = dict(reader.entries())

    assert list(found) == [1, 3, 4]
    assert reader.share == 1
    assert isinstance(found[3], InvalidRequest)
    assert found[1].request_id == found[4].request_id == 'req-1'
    assert [number for number, _ in LogReader(str(compressed)).entries()] == [1]
