"""Build step of a worker image: check the version of the base image's Python, link to it, and remove its packages."""

import json
import os
import shutil
import sys
from pathlib import Path

wanted = json.loads(Path("/worker/wanted.json").read_text())
found = f"{sys.version_info.major}.{sys.version_info.minor}"
if found != wanted["python"]:
    sys.exit(f"the base image has Python {found}, but the packages are for Python {wanted['python']}")
os.symlink(os.path.realpath(sys.executable), "/worker/python")
for root in ("/usr/lib", "/usr/local/lib", sys.base_prefix + "/lib"):
    for name in ("site-packages", "dist-packages"):
        for folder in Path(root).glob(f"python3*/{name}"):
            shutil.rmtree(folder)
os.mkdir("/packages")
