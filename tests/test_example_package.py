"""The example package adds one entry of each kind and passes the conformance suites."""

import os
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
EXAMPLE = ROOT / "examples" / "tutelage-example"


def test_the_example_package_passes(python):
    """Its tests pass where it is on the path and nothing else of the project is."""
    path = os.pathsep.join([str(EXAMPLE / "src"), os.environ.get("PYTHONPATH", "")])
    ran = python(
        "-m", "pytest", "-q", "-p", "no:cacheprovider", cwd=EXAMPLE, env=os.environ | {"PYTHONPATH": path}, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_the_documentation_shows_its_code():
    """docs/extending.md shows the policy, teacher, source and distribution as they are in the package."""
    page = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    for name in ("policies", "teachers", "instances", "distributions"):
        code = (EXAMPLE / "src" / "tutelage_example" / f"{name}.py").read_text(encoding="utf-8")
        assert code.partition("\n\n")[2] in blocks, name
