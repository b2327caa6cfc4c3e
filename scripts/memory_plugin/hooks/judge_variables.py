"""Which environment variables a process of ours needs that asks a judge: what decides where one is reached and by which key."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..kernel.settings.load import Settings

__all__ = ["judge_variables"]

# Those that kernel/judge/credentials.py and OpenSSL read; the environment is clean by now.
_JUDGES = (
    "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "OPENAI_API_KEY", "OPENAI_BASE_URL",
    "GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL",
    "HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR",
    "ANTHROPIC_CUSTOM_HEADERS", "CLAUDE_CODE_CLIENT_CERT", "CLAUDE_CODE_CLIENT_KEY", "CLAUDE_CODE_CLIENT_KEY_PASSPHRASE",
)  # fmt: skip


def judge_variables(settings: Settings) -> tuple[str, ...]:
    """Their names, the user's own `judge.key_variable` among them."""
    chosen = settings.text("judge.key_variable")
    return (*_JUDGES, chosen) if chosen else _JUDGES
