"""Compiled programs kept on disk: the second process starts without compiling.

Compilation takes a few seconds per process, and one more each time the number of evaluations outgrows a bucket
(`infold.gp.padding`). The setting is JAX's own and holds for the whole process, so it is the user's to make.
"""

import hashlib
import logging
import os
import platform
from pathlib import Path

_log = logging.getLogger(__name__)


def user_folder() -> Path:
    """Where we keep things that can be computed again."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "infold"


def default_folder() -> Path:
    """Apart for every kind of processor: compiled code runs on the kind it was compiled for."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        processor = next((line for line in lines if line.startswith(("flags", "Features"))), "")
    except OSError:
        processor = platform.processor()
    kind = hashlib.sha256(processor.encode()).hexdigest()[:12]
    return user_folder() / f"{platform.machine()}-{kind}"


def cache_compilations(folder: str | os.PathLike | None = None) -> Path | None:
    """Keep everything that JAX compiles in this process, and take from there what earlier ones compiled.

    Args:
        folder: where; only people you trust to run code as you should be able to write there. Default: the user's cache
            folder; where JAX has been told of one already, nothing is changed.

    Returns:
        The folder, or None when it cannot be written: then everything goes on without.
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
    except (OSError, RuntimeError) as error:  # the second: a user without a home
        _log.warning("compiled programs are not kept: %s", error)
        return None
    jax.config.update("jax_compilation_cache_dir", str(path))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)  # ours are many and small
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    compilation_cache.reset_cache()  # JAX may have opened another folder already
    return path
