"""The page: the figures of a run in one file that needs nothing else."""

import base64
import hashlib
import html
from importlib import resources
from string import Template

from infold.report.contents import page_data
from infold.report.plain import for_script
from infold.report.subject import Subject

_SCRIPTS = ("charts", "outcomes", "page", "sections")


def page(subject: Subject, *, follow: str = "") -> str:
    """Return the report as HTML.

    Args:
        subject: the run.
        follow: what the server's `version` says of the run as it is now; the page loads itself
            again when that changes. Empty for a page that stays as it is.
    """
    scripts = {name: _asset(f"{name}.js") for name in _SCRIPTS}
    vega = _asset("vega.min.js")
    licence = _asset("vega.LICENSE")
    # Only these scripts run, whatever else may be in the page: the browser compares their digests.
    digests = " ".join(
        _digest(script) for script in (f"/*\n{licence}\n*/\n{vega}", *scripts.values())
    )
    quoted = "'self'" if follow else "'none'"
    policy = (
        f"default-src 'none'; script-src {digests}; style-src 'unsafe-inline'; img-src data:; "
        f"connect-src {quoted}; base-uri 'none'; form-action 'none'"
    )
    return Template(_asset("page.html")).substitute(
        policy=policy,
        follow=html.escape(follow),
        title=html.escape(subject.title.encode("utf-8", "replace").decode()),
        style=_asset("page.css"),
        licence=licence,
        vega=vega,
        data=for_script(page_data(subject)),
        **scripts,
    )


def _asset(name: str) -> str:
    return (resources.files("infold.report") / "assets" / name).read_text(encoding="utf-8")


def _digest(script: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
