# SPDX-License-Identifier: BSD-3-Clause
"""Our own tests, run in the guest as they are (checks.py says which)."""

import pytest
from checks import CHECKS, Compiled, ident_of
import inner
from guests.guest import CommandFailed


@pytest.mark.parametrize("check", CHECKS, ids=ident_of)
def test_check(machine, cell, check):
    try:
        outcome = (inner.compiled if isinstance(check, Compiled) else inner.python)(machine, check)
    except CommandFailed:  # it hangs, or has gone: what comes next needs another one
        machine.kill()
        raise
    skipped = f", {len(outcome.skipped)} skipped" if outcome.skipped else ""
    cell(f"{outcome.passed} passed{f', {len(outcome.failed)} FAILED' if outcome.failed else ''}{skipped}", outcome.skipped)
    if outcome.failed:
        pytest.fail(f"{len(outcome.failed)} tests failed on Linux {machine.kernel.version}:\n{inner.failures(outcome)}", pytrace=False)
