"""The lowest layer, which imports no other part of the plugin; and what every process of ours does first.

When a disk fills up, importlib may write part of a bytecode file and take it for complete. From then on importing that module raises
EOFError, ValueError or TypeError from `marshal`; after other damage Python silently reads the source instead. `quick_start` deletes such a
file when it meets one. Disks fill up in whole blocks, mostly of 4 kB: the bytecode files of the packages that are imported before it are
smaller, so they are complete or empty, and Python ignores an empty one.
"""


def import_fast(*, without_os: bool = False) -> None:
    """Import this package's modules fast from now on, past damaged bytecode files; `without_os` replaces the import of `os`, too."""
    try:
        from .quick_start import install_imports, install_os
    except (EOFError, ValueError, TypeError):
        import os
        from importlib.util import cache_from_source

        os.unlink(cache_from_source(os.path.join(os.path.dirname(__file__), "quick_start.py")))
        from .quick_start import install_imports, install_os
    if without_os:
        install_os()
    install_imports()
