# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""What the catalog finds missing is asked of the operator, once each, and goes into the bags."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from curation.catalog.database import open_catalog
from curation.catalog.ingest import write_records
from curation.cli.main import main
from recorder.bag.mcap_reader import bag_file, read_facts
from recorder.exceptions import SessionError
from recorder.facts import from_json, SessionFacts
from recorder.proposals import Proposal, Proposals, read_proposals
from recorder.session import Plan, Session
from support.records import make_record, TASKS
from teleop_bridge.exceptions import RigError
from teleop_bridge.rig.tasks import Location, Task
from teleop_bridge.vocabulary import Grade

TASK = Task('pick', 'Pick it up.', (Location('A', xyz=(0.1, 0.0, 0.0)), Location('B')))
ENTRY = {
    'task': 'pick', 'basis': 'object position (cube)', 'start': [0.2, -0.08], 'near': 'A',
    'distance': 0.05,
}  # fmt: skip
POSE = {**ENTRY, 'basis': 'robot joints', 'start': [0.0] * 6, 'near': ''}


def written(folder: Path, *entries: Any) -> Path:
    path = folder / 'next.json'
    path.write_text(json.dumps(entries))
    return path


def test_places_of_the_task_are_read_in_order_and_the_rest_is_counted(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        ENTRY,
        {**ENTRY, 'task': 'place', 'near': 'elsewhere'},
        {**ENTRY, 'start': [0.107, -0.007]},
        {**ENTRY, 'start': [0.108, -0.007]},
        {**ENTRY, 'near': 'B', 'start': [0.0, 0.0]},
        {**ENTRY, 'near': ''},
        POSE,
    )
    assert read_proposals(path, TASK) == Proposals(
        (
            Proposal((0.2, -0.08), 'A'),
            Proposal((0.107, -0.007), 'A', 'A'),  # 9.9 mm off
            Proposal((0.108, -0.007), 'A'),
            Proposal((0.0, 0.0), 'B'),
            Proposal((0.2, -0.08)),
        ),
        poses=1,
    )
    assert read_proposals(written(tmp_path), TASK) == Proposals()


@pytest.mark.parametrize(
    ('entry', 'error', 'message'),
    [
        ({**ENTRY, 'near': 'C'}, RigError, r"\[0\]\.near: task 'pick' has no location 'C' .*A, B"),
        ({**ENTRY, 'start': [0.1]}, RigError, r'\[0\]\.start: expected x and y, found 1 number'),
        ({**ENTRY, 'start': '0.1 0.2'}, RigError, r'\[0\]\.start: expected a list of numbers'),
        ({'task': 'pick'}, RigError, r'\[0\]\.basis: required key is missing'),
        (3, RigError, r'\[0\]: expected a mapping, found 3'),
        (POSE, SessionError, "task 'pick', found only start poses of the robot, which no operat"),
    ],
)
def test_what_cannot_be_asked_for_is_refused_by_name(
    tmp_path: Path, entry: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=r'next\.json: ' + f'.*{message}'):
        read_proposals(written(tmp_path, entry), TASK)


@pytest.mark.parametrize('text', ['', '{}', 'task basis\n'])
def test_what_is_no_list_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / 'next.json'
    path.write_text(text)
    with pytest.raises(SessionError, match=r'next\.json: expected'):
        read_proposals(path, TASK)


FIRST, SECOND = Proposal((0.2, -0.08), 'A'), Proposal((0.1, 0.0), 'A', 'A')
PLAN = Plan(targets={'A': 1, 'B': 1}, proposals=(FIRST, SECOND))


def record(session: Session, location: str = '') -> tuple[str, Proposal | None]:
    session.arm(0)
    attempt = session.start(0, location)
    session.end(0, Grade.FAILURE)
    return attempt.location, attempt.proposal


def test_proposals_follow_the_targets_once_each_and_a_cancelled_one_comes_again() -> None:
    session = Session(plan=PLAN)
    assert session.next_proposal() is None
    assert [record(session) for _ in range(2)] == [('A', None), ('B', None)]
    session.arm(0)
    assert session.start(0).proposal == FIRST
    session.cancel(0)
    assert record(session, 'B') == ('B', None)  # at the operator's own wish
    assert [record(session) for _ in range(2)] == [('', FIRST), ('A', SECOND)]
    assert session.next_proposal() is None and session.next_location() == 'A'


def test_without_targets_proposals_come_first_and_then_every_location_in_turn() -> None:
    session = Session(plan=Plan(targets={'A': 0, 'B': 0}, proposals=(FIRST,)))
    assert [record(session)[0] for _ in range(5)] == ['', 'A', 'B', 'A', 'B']


def test_a_resumed_session_goes_on_where_it_was_though_the_file_is_newer() -> None:
    session = Session(plan=PLAN)
    for _ in range(3):
        record(session)
    newer = Plan(targets=PLAN.targets, proposals=(SECOND, FIRST))
    resumed = Session(plan=newer, kept=tuple(session.kept), attempts=session.attempts)
    assert record(resumed) == ('A', SECOND)
    assert resumed.next_proposal() is None


def parameters(**values: object) -> Any:
    pytest.importorskip('rclpy', reason='rclpy (ROS 2) is not installed')
    from recorder.nodes.parameters import _PARAMETERS, Options

    return Options(**{**{name: default for name, default, *_ in _PARAMETERS}, **values})


def test_an_evaluation_asks_for_its_trials_alone(tmp_path: Path) -> None:
    path = str(written(tmp_path, ENTRY))
    for kind in ('collection', 'dry_run'):
        assert parameters(proposals=path, session_kind=kind).missing(TASK).places == (FIRST,)
    assert parameters(proposals=path, session_kind='evaluation').missing(TASK) == Proposals()
    with pytest.raises(SessionError, match='expected parameter task as well'):
        parameters(proposals=path).missing(None)


def test_targets_that_leave_no_episode_to_the_proposals_are_refused() -> None:
    greedy = Task('pick', 'x', (Location('A', target=8), Location('B', target=4)))
    options = parameters(proposals='next.json', episodes_per_block=4, blocks=3)
    with pytest.raises(SessionError, match=r'next\.json: the .*\(12 episodes\) come first'):
        options.plan(greedy, (FIRST,))
    assert options.plan(greedy).targets == {'A': 8, 'B': 4}
    assert options.plan(TASK, (FIRST,)).proposals == (FIRST,)
    assert parameters(blocks=0).plan(greedy, (FIRST,)).proposals == (FIRST,)  # an open end


def test_from_the_catalog_to_the_operator_and_into_the_bags(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ask the catalog, give its answer to the recorder as it is, and restart it half-way."""
    pytest.importorskip('rclpy', reason='rclpy (ROS 2) is not installed')
    pytest.importorskip('teleop_flywheel.msg', reason='our messages are not built')
    from support.live import new_domain
    from support.tiny_rig import recorder, TinyRig

    grid = [(x, y) for x in (0.13, 0.18, 0.23) for y in (-0.16, -0.1, -0.04, 0.02)]
    with open_catalog(tmp_path).begin() as connection:
        write_records(connection, [make_record(n, xy=xy) for n, xy in enumerate(grid)])
    assert main(['ask', 'next', str(tmp_path), '--count', '2', '--json']) == 0
    said = capsys.readouterr().out
    (tmp_path / 'next.json').write_text(said)
    (tmp_path / 'tasks.yaml').write_text(TASKS.replace('target: 5', 'target: 0'))
    files = {'tasks': tmp_path / 'tasks.yaml', 'proposals': tmp_path / 'next.json'}
    bags = []
    for _ in range(2):
        domain = new_domain()
        rig = TinyRig(domain)
        with recorder(tmp_path, domain, task='pick_place', **files):
            bags.append(rig.record(0.3))
        rig.close()
    facts = [from_json(SessionFacts, read_facts(bag_file(bag))['session'], '') for bag in bags]
    proposed = [(entry['start'], entry['near']) for entry in json.loads(said)]
    assert len({near for _, near in proposed}) == 2
    assert [tuple(f.extra['proposal'].values()) for f in facts] == proposed
