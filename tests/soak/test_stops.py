"""The process, or the disk, stops at any step: nothing acknowledged is lost, and the next start goes on."""

from pathlib import Path

import pytest

from tests.soak import killed, stops


@pytest.mark.parametrize("scenario", stops.scenarios(), ids=lambda scenario: scenario.name)
def test_a_stop_at_any_step_costs_nothing_acknowledged(scenario: stops.Scenario, tmp_path: Path) -> None:
    assert len(list(stops.stops(scenario, tmp_path))) > 3


def test_a_process_that_is_killed_in_the_middle_of_a_write_costs_nothing_acknowledged(tmp_path: Path) -> None:
    [append] = [scenario for scenario in stops.scenarios() if scenario.name == "append"]
    assert killed.kills(append, tmp_path, range(2)) == 4
