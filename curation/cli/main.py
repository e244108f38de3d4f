# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The program ``flywheel``: one verb a module, found here and imported when it is called."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
import errno
import importlib
import sys
import traceback
from typing import Protocol

from curation.cli.exits import Exit
from curation.cli.output import Output
from curation.exceptions import UsageError
from teleop_bridge.exceptions import FlywheelError

# what an operating system may refuse anybody, full disks and other people's folders
_REFUSALS = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM)

# verb: (module, what it does)
VERBS = {
    'demo': ('curation.cli.demo', 'run the whole line for real, on a simulated rig'),
    'info': ('curation.cli.info', 'say what bags hold, or in one line why one is unreadable'),
    'check': ('curation.cli.check', 'find what is wrong with bags or datasets'),
    'rig': ('curation.cli.rig', 'draft a rig file from a bag, check one, or write its views'),
    'find-port': ('curation.cli.find_port', 'tell the name of a serial device by unplugging it'),
    'calibrate': ('curation.cli.calibrate', "calibrate a rig's servo arms, leader and follower"),
    'score': ('curation.cli.score', 'score episodes against each other'),
    'ingest': ('curation.cli.ingest', 'bring bags into a catalog'),
    'ask': ('curation.cli.ask', 'answer a question about the episodes of a catalog'),
    'review': ('curation.cli.review', 'step through what rules or findings flagged'),
    'manifest': ('curation.cli.manifest', 'freeze, split and verify lists of episodes'),
    'convert': ('curation.cli.convert', 'align bags and export them as a dataset'),
    'export': ('curation.cli.export', 'align bags and write them for a trainer'),
    'offload': ('curation.cli.offload', 'copy bags to another disk or host, verified by content'),
    'prune': ('curation.cli.prune', 'remove the bags that operators cancelled'),
    'report': ('curation.cli.report', 'write a report on episodes that opens in a browser'),
    'collect': ('curation.cli.collect', 'start a rig and record a session, with its console'),
    'simulate': ('curation.cli.simulate', 'record episodes on the simulated arm, without ROS'),
    'train': ('curation.cli.train', 'train a policy on bags, as an ONNX checkpoint'),
    'replay': ('curation.cli.replay', 'compare a checkpoint with what people did, per phase'),
    'scenarios': ('curation.cli.scenarios', 'freeze hard moments as named scenarios'),
    'regress': ('curation.cli.regress', 'run a checkpoint through the scenarios of a library'),
    'evaluate': ('curation.cli.evaluate', 'tell how often a checkpoint succeeds in simulation'),
}


class Verb(Protocol):
    """What a verb's module offers."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the verb's arguments."""

    def run(self, arguments: argparse.Namespace, output: Output) -> Exit:
        """Do it; FlywheelError for an ordinary mistake."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a verb and return the exit code; see Exit."""
    argv = list(sys.argv[1:] if argv is None else argv)
    parser = argparse.ArgumentParser('flywheel', description='From bags to training episodes.')
    verbs = parser.add_subparsers(dest='verb', metavar='VERB', required=True)
    for name, (_, what) in VERBS.items():
        verbs.add_parser(name, help=what, add_help=False)
    chosen, rest = parser.parse_known_args(argv[:1])
    module, what = VERBS[chosen.verb]
    verb: Verb = importlib.import_module(module)
    shared = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    shared.add_argument('--json', action='store_true', help='print one JSON document only')
    shared.add_argument('--debug', action='store_true', help='show where an error came from')
    own = argparse.ArgumentParser(
        f'flywheel {chosen.verb}', description=f'{what.capitalize()}.', parents=[shared]
    )
    verb.add_arguments(own)
    flags, remaining = shared.parse_known_args(rest + argv[1:])  # after a verb's own verbs as well
    arguments = own.parse_args(remaining, flags)
    output = Output(json=arguments.json)
    try:
        return verb.run(arguments, output)
    except UsageError as error:
        return _fail(output, str(error), Exit.USAGE, debug=arguments.debug)
    except FlywheelError as error:
        return _fail(output, str(error), Exit.BAD_DATA, debug=arguments.debug)
    except KeyboardInterrupt:
        return _fail(output, 'interrupted', Exit.INTERRUPTED, debug=False)
    except BrokenPipeError:
        return Exit.OK  # the reader, as in `flywheel info | head`, has seen enough
    except Exception as error:
        if isinstance(error, OSError) and error.errno in _REFUSALS:
            what_happened = f"{error.filename or 'a file'}: cannot be used ({error.strerror})"
            return _fail(output, what_happened, Exit.BAD_DATA, debug=arguments.debug)
        what_happened = f'internal error: {type(error).__name__}: {error} (--debug shows where)'
        return _fail(output, what_happened, Exit.INTERNAL, debug=arguments.debug)


def _fail(output: Output, message: str, code: Exit, *, debug: bool) -> Exit:
    if debug:
        traceback.print_exc()
    output.error(message)
    return code


if __name__ == '__main__':
    sys.exit(main())
