# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""How much exports and loaders cost, as ratios within one run; tables for docs/exports.md.

Exports to LeRobot v3 of 10 episodes of 10 s with two JPEG cameras 640x480 at 30 Hz, from bags,
against lerobot 0.6.1's own writer, which is fed the same frames from memory with the same
settings, and against PyAV encoding them alone. Then random windows of two images and 16 actions,
and every encoder's speed, size, reading speed and PSNR. Each case has a process of its own; CPU
seconds leave out imports, and for lerobot and PyAV the decoding of what they are fed.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
import subprocess
import sys
from typing import Any

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
from bench.export_bags import write_bags  # noqa: E402

CASES = ROOT / 'bench/export_cases.py'


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser('bench-export', description=__doc__.splitlines()[0])
    parser.add_argument('--work', type=Path, default=Path('export_bench'))
    parser.add_argument('--episodes', type=int, default=10)
    parser.add_argument('--seconds', type=float, default=10)
    parser.add_argument('--codecs', default='h264,hevc,av1')
    arguments = parser.parse_args()
    work: Path = arguments.work.resolve()
    write_bags(work / 'bags', arguments.episodes, arguments.seconds)
    codecs = arguments.codecs.split(',')
    console = Console(width=110)
    for number, codec in enumerate(codecs):
        _writers(console, work, codec)
        if not number:
            _loaders(console, work, codec)
    _encoders(console, work, codecs)


def _writers(console: Console, work: Path, codec: str) -> None:
    table = Table('codec', 'writer', 'ms CPU a frame', 'MB', 'PSNR dB', 'against PyAV alone')
    reading = _run('reading', work, codec)
    rows = {name: _run(name, work, codec) for name in ('floor', 'ours', 'lerobot')}
    frames = 2 * rows['ours']['frames']
    base = rows['floor']['cpu_s']
    for name, said in (('floor', 'PyAV alone'), ('ours', 'ours, from bags'),
                       ('lerobot', 'lerobot 0.6.1, from memory')):
        row = rows[name]
        if 'cpu_s' not in row:
            table.add_row(codec, said, row['error'])
            continue
        size = f'{row["bytes"] / 1e6:.1f}' if 'bytes' in row else ''
        psnr = f'{row["psnr"]:.1f}' if 'psnr' in row else ''
        table.add_row(codec, said, f'{1000 * row["cpu_s"] / frames:.2f}', size, psnr,
                      f'{row["cpu_s"] / base:.2f}')
    if 'cpu_s' in rows['lerobot']:
        less = rows['lerobot']['cpu_s'] / rows['ours']['cpu_s']
        table.add_row(codec, 'lerobot / ours', f'{less:.2f}')
    table.add_row(codec, 'aligning and decoding alone', f'{1000 * reading["cpu_s"] / frames:.2f}')
    console.print(table)


def _encoders(console: Console, work: Path, codecs: list[str]) -> None:
    table = Table(
        'codec', 'read one after another, frames/s', 'at random, frames/s', title='reading videos')
    for codec in codecs:
        row = _run('videos', work, codec)
        table.add_row(codec, f'{row["sequential"]:.0f}', f'{row["random"]:.0f}')
    console.print(table)


def _loaders(console: Console, work: Path, codec: str) -> None:
    frames = _run('frames', work, codec)
    rates = {f'ours, {name}': rate for name, rate in _run('windows', work, codec).items()}
    theirs = _run('lerobot_windows', work, codec)
    numbers = [rate for rate in theirs.values() if isinstance(rate, float)]
    best = max(numbers) if numbers else float('nan')
    table = Table('loader', 'windows a CPU second', 'against LeRobotDataset')
    for name, rate in {**{f'LeRobotDataset, {n}': r for n, r in theirs.items()}, **rates}.items():
        told = (f'{rate:.0f}', f'{rate / best:.2f}') if isinstance(rate, float) else (str(rate),)
        table.add_row(name, *told)
    console.print(table)
    manifest = _run('manifest', work, codec)
    console.print(
        f'opening a manifest of {manifest["episodes"]} episodes: {manifest["wall_s"]:.2f} s, '
        f'{manifest["cpu_s"]:.2f} s CPU')
    console.print(f'frames export: {frames["cpu_s"]:.1f} s CPU, {frames["bytes"] / 1e6:.0f} MB')


def _run(case: str, work: Path, codec: str) -> dict[str, Any]:
    """Run a case; where lerobot cannot be had, say why instead."""
    program = [sys.executable] if 'lerobot' not in case else [str(ROOT / 'scripts/lerobot')]
    done = subprocess.run(
        [*program, str(CASES), case, str(work), codec], capture_output=True, text=True)
    if done.returncode:
        error = done.stderr.strip().splitlines()[-1] if done.stderr.strip() else 'failed'
        if 'lerobot' in case:
            return {'error': error}
        raise SystemExit(f'{case} {codec}: {done.stderr}')
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


if __name__ == '__main__':
    main()
