"""Compiled programs kept on disk, so that a second process starts without compiling.

Compilation takes a few seconds per process, and one more each time the number of evaluations
outgrows a bucket (`infold.gp.padding`). The setting is JAX's own and holds for the whole process,
so it is left to the user.
"""

import hashlib
import logging
import os
import platform
from pathlib import Path

import platformdirs

_log = logging.getLogger(__name__)


def user_folder() -> Path:
    """Return the folder for files that can be computed again.

    It is where the operating system wants caches, or in `XDG_CACHE_HOME` where that is set.

    Raises:
        RuntimeError: when the user has no home directory.
    """
    path = platformdirs.user_cache_path("infold", appauthor=False)
    if not path.is_absolute():  # older versions leave the "~" of a user without a home as it is
        raise RuntimeError(f"{path} is not an absolute path: no home directory is known")
    return path


def default_folder() -> Path:
    """Return the folder for programs compiled on this kind of processor.

    Every kind has its own, since compiled code may use instructions that others lack.
    """
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        processor = next((line for line in lines if line.startswith(("flags", "Features"))), "")
    except OSError:
        processor = platform.processor()
    kind = hashlib.sha256(processor.encode()).hexdigest()[:12]
    return user_folder() / f"{platform.machine()}-{kind}"


def cache_compilations(folder: str | os.PathLike | None = None) -> Path | None:
    """Keep what JAX compiles in this process, and reuse what earlier processes compiled.

    Args:
        folder: folder for compiled programs, in which nobody should be able to write whom you
            would not trust to run code as you. When None, the folder that JAX has been told
            already, or else one in the user's cache folder.

    Returns:
        The folder; None when it cannot be written, and compiled programs are not kept.
    """
    import jax
    from jax.experimental.compilation_cache import compilation_cache

    chosen = getattr(jax.config, "jax_compilation_cache_dir", None)
    if folder is None and chosen:
        return Path(chosen)
    try:
        path = default_folder() if folder is None else Path(folder)
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not os.access(path, os.W_OK):
            raise PermissionError(f"{path} cannot be written")
    except (OSError, RuntimeError) as error:  # RuntimeError: a user without a home directory
        _log.warning("compiled programs are not kept: %s", error)
        return None
    jax.config.update("jax_compilation_cache_dir", str(path))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)  # ours are many and small
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    compilation_cache.reset_cache()  # JAX may have opened another folder already
    return path
