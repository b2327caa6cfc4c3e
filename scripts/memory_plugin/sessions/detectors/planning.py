"""How the work was laid out: plans, skills, sub-agents, calls side by side, compactions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .errors import main_argument

if TYPE_CHECKING:
    from ...kernel.transcript.turn import Turn
    from ..sightings import Note

__all__ = ["Planning"]

_BY_TOOL = {
    **dict.fromkeys(("TodoWrite", "TaskCreate", "TaskUpdate", "ExitPlanMode"), "plans"),
    **dict.fromkeys(("Task", "Agent"), "delegations"),
    **dict.fromkeys(("Skill", "SlashCommand"), "skills"),
}


class Planning:
    """Stateless but for its interface."""

    def see(self, turn: Turn, note: Note) -> None:
        """Look at the next turn."""
        for call in turn.calls:
            name = _BY_TOOL.get(call.name)
            if name:
                note(name, turn.number, main_argument(call) or call.name)
        if len(turn.calls) > 1:
            note("parallel", turn.number, ", ".join(call.name for call in turn.calls[:10]))
        if any(said.kind == "summary" for said in turn.said):
            note("compactions", turn.number)

    def finish(self, note: Note) -> None:
        """Nothing is left for the end."""
