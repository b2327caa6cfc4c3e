"""Import the modules that an event needs, with the fast import, before it is handled."""

from __future__ import annotations

from ..kernel.quick_import import import_ahead, install

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable

# The modules that an event always imports, each after its own imports: see `import_ahead`.
_ALWAYS = (
    "kernel.ancestry kernel.clock kernel.fastjson kernel.files kernel.paths "
    "hooks.client_record hooks.environment hooks.events hooks.entry "
)
AHEAD = {
    "UserPromptSubmit": _ALWAYS
    + "kernel.locks kernel.ledger kernel.context kernel.settings kernel.settings.values kernel.settings.load kernel.data memories "
    "memories.save_requests recall kernel.text kernel.text.tags recall.gate recall.history recall.pipeline hooks.prompt",
    "PreToolUse": _ALWAYS + "memories memories.guard_file hooks.tool_use recall",
}


def event_handler(event: str) -> Callable[..., int]:
    """Return the function that handles an event, with the modules imported that it always needs."""
    install()
    import_ahead(AHEAD.get(event, _ALWAYS))
    from .entry import run

    return run


def status_line() -> Callable[[], int]:
    """Return the function that prints the status line."""
    install()
    from .status_line import run

    return run
