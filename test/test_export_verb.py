# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""`flywheel export` writes what its options say, and ignores none of them."""

from __future__ import annotations

from collections.abc import Iterator
import json
from pathlib import Path

import pytest

from curation.align.episode import Episode
from curation.cli import export
from curation.cli.exits import Exit
from curation.cli.main import main
from support.filmed import make_episode

FILES = {
    'lerobot': 'meta/info.json', 'robomimic': 'dataset.hdf5', 'zarr': 'meta/episode_ends/.zarray',
    'frames': 'info.json',
}


@pytest.fixture(autouse=True)
def episodes(monkeypatch: pytest.MonkeyPatch) -> None:
    def aligned(*_: object) -> Iterator[Episode]:
        yield make_episode('e0')

    monkeypatch.setattr(export, 'aligned', aligned)


@pytest.mark.parametrize('name', list(FILES))
def test_every_format_is_written_as_one_command(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / 'out'
    code = main(['export', 'bags', '--json', '--format', name, '--out', str(out)])
    assert code == Exit.OK
    document = json.loads(capsys.readouterr().out)
    assert (document['format'], document['samples']) == (name, 40)
    assert (out / FILES[name]).is_file()


def test_size_and_crop_reach_the_images(tmp_path: Path) -> None:
    out = tmp_path / 'out'
    shape = ['--crop', '8,0,48x48', '--size', '24x24']
    assert main(['export', 'bags', '--format', 'frames', '--out', str(out), *shape]) == Exit.OK
    info = json.loads((out / 'info.json').read_text())
    assert info['cameras'] == {'front': {'height': 24, 'width': 24}}
    assert info['crop'] == [8, 0, 48, 48]


@pytest.mark.parametrize(
    ('options', 'message'),
    [
        (['--format', 'zarr', '--append'], 'expected with --format lerobot, found zarr'),
        (['--format', 'frames', '--gop', '9'], 'expected with --format lerobot, found frames'),
        (['--gop', '-1'], 'expected at least 1, found -1'),
        (['--format', 'zarr', '--lossless'], 'expected with --format frames, found zarr'),
    ],
)
def test_options_that_a_format_has_no_use_for_are_refused(
    options: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / 'out'
    assert main(['export', 'bags', '--out', str(out), *options]) == Exit.USAGE
    assert message in capsys.readouterr().err
    assert not out.exists()


def test_a_dataset_is_appended_to_and_tuned(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / 'out'
    write = ['export', 'bags', '--out', str(out), '--gop', '5', '--quality', '30']
    assert main([*write, '--executor', 'serial']) == Exit.OK
    info = json.loads((out / 'meta/info.json').read_text())
    video = info['features']['observation.images.front']['info']
    assert (video['video.g'], video['video.crf']) == (5, 30)
    assert main(write) == Exit.BAD_DATA
    assert 'or append to it' in capsys.readouterr().err
    assert main([*write, '--append']) == Exit.OK


@pytest.mark.parametrize('option', [['--size', '0x5'], ['--size', '5'], ['--crop', '1,2,3']])
def test_sizes_that_are_none_are_wrong_usage(option: list[str], tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as ended:
        main(['export', 'bags', '--out', str(tmp_path / 'out'), *option])
    assert ended.value.code == Exit.USAGE
