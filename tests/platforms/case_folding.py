"""A folder that ignores the case of names, as macOS and Windows have: `python case_folding.py STORED MOUNTED` (fusepy, libfuse2)."""

from __future__ import annotations

import errno
import os
import sys
from typing import Any

from fuse import FUSE, FuseOSError, Operations


class CaseFolding(Operations):  # type: ignore[misc]
    """Pass each call on to the stored folder; a name means the entry that differs only in case."""

    def __init__(self, stored: str) -> None:
        self.stored = stored

    def real(self, path: str) -> str:
        """Return the stored path of a name in any case."""
        found = self.stored
        for name in filter(None, path.split("/")):
            try:
                same = [entry for entry in os.listdir(found) if entry.casefold() == name.casefold()]
            except OSError:
                same = []
            found = os.path.join(found, same[0] if same else name)
        return found

    def __call__(self, operation: str, path: str, *args: Any) -> Any:  # noqa: ANN401 (the interface of the library)
        """Do one operation."""
        if operation in ("init", "destroy"):
            return None
        try:
            return getattr(self, operation)(path, *args)
        except OSError as error:
            raise FuseOSError(error.errno or errno.EIO) from None

    def getattr(self, path: str, fh: int | None = None) -> dict[str, Any]:  # noqa: ARG002
        """Return what `lstat` says."""
        status = os.lstat(self.real(path))
        return {name: getattr(status, name) for name in dir(status) if name.startswith("st_")}

    def readdir(self, path: str, fh: int) -> list[str]:  # noqa: ARG002
        """List a folder."""
        return [".", "..", *os.listdir(self.real(path))]

    def mkdir(self, path: str, mode: int) -> None:
        """Make a folder."""
        os.mkdir(self.real(path), mode)

    def rmdir(self, path: str) -> None:
        """Remove a folder."""
        os.rmdir(self.real(path))

    def unlink(self, path: str) -> None:
        """Remove a file."""
        os.unlink(self.real(path))

    def rename(self, old: str, new: str) -> None:
        """Rename a file or folder."""
        os.replace(self.real(old), self.real(new))

    def chmod(self, path: str, mode: int) -> None:
        """Change permissions."""
        os.chmod(self.real(path), mode)

    def utimens(self, path: str, times: Any = None) -> None:  # noqa: ANN401
        """Change times."""
        os.utime(self.real(path), times)

    def truncate(self, path: str, length: int, fh: int | None = None) -> None:  # noqa: ARG002
        """Cut a file."""
        os.truncate(self.real(path), length)

    def create(self, path: str, mode: int, fi: Any = None) -> int:  # noqa: ANN401, ARG002
        """Create and open a file."""
        return os.open(self.real(path), os.O_RDWR | os.O_CREAT | os.O_TRUNC, mode)

    def open(self, path: str, flags: int) -> int:
        """Open a file."""
        return os.open(self.real(path), flags)

    def read(self, path: str, size: int, offset: int, fh: int) -> bytes:  # noqa: ARG002
        """Read from an open file."""
        return os.pread(fh, size, offset)

    def write(self, path: str, data: bytes, offset: int, fh: int) -> int:  # noqa: ARG002
        """Write into an open file."""
        return os.pwrite(fh, data, offset)

    def fsync(self, path: str, datasync: int, fh: int) -> None:  # noqa: ARG002
        """Flush an open file."""
        os.fsync(fh)

    def release(self, path: str, fh: int) -> None:  # noqa: ARG002
        """Close a file."""
        os.close(fh)


if __name__ == "__main__":
    FUSE(CaseFolding(os.path.realpath(sys.argv[1])), sys.argv[2], foreground=True, nothreads=True)
