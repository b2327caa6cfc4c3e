"""What the index holds of one memory."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

CATEGORIES = ("DECISION", "CONSTRAINT", "PREFERENCE", "RUNBOOK", "TECH_DEBT", "SESSION_SUMMARY")


class Document:
    """One memory as the index sees it.

    `key` is unique over all scopes, `path` is its source file, `stamp` is "mtime_ns:size:inode" of that file and `digest` the digest of its
    bytes.  `expires_at` is "" for never, else ISO 8601 in UTC.  `inject` is the text that a prompt gets, redacted and escaped already.
    A document read back from the index has an empty `body`, since the index keeps only its terms.
    `superseded_by` and `supersedes` are what the memory says of others, `inherited` the phrases of older memories that it replaces.
    """

    __slots__ = (
        "asked_as", "body", "category", "digest", "expires_at", "files", "id", "inherited", "inject", "injectable", "key", "path", "scope",
        "stamp", "superseded_by", "supersedes", "tags", "title", "trust", "updated_at",
    )  # fmt: skip

    def __init__(  # noqa: PLR0913, PLR0917 - a record, made by keyword
        self,
        key: str,
        scope: str,
        id: str,  # noqa: A002 - the record's own field name
        category: str,
        title: str,
        tags: list[str],
        body: str,
        files: list[str],
        asked_as: list[str],
        path: str,
        stamp: str,
        digest: str,
        injectable: bool,
        trust: str,
        expires_at: str,
        updated_at: str,
        inject: str,
        superseded_by: str = "",
        supersedes: Sequence[str] = (),
        inherited: Sequence[str] = (),
    ) -> None:
        self.key = key
        self.scope = scope
        self.id = id
        self.category = category
        self.title = title
        self.tags = tags
        self.body = body
        self.files = files
        self.asked_as = asked_as
        self.path = path
        self.stamp = stamp
        self.digest = digest
        self.injectable = injectable
        self.trust = trust
        self.expires_at = expires_at
        self.updated_at = updated_at
        self.inject = inject
        self.superseded_by = superseded_by
        self.supersedes = supersedes
        self.inherited = inherited
