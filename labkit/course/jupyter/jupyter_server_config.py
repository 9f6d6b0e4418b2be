"""What `labkit lab` sets of Jupyter's server, beside its options."""

import os
from pathlib import Path

from jupyter_core.paths import jupyter_config_dir

# Cookies of one lab do not open the next: another user might have caught them in between.
c.ServerApp.cookie_secret = os.urandom(32)  # noqa: F821  Jupyter's own name for its settings

# Where custom.css is looked for: ours first, for the server has no option for it.
c.ServerApp.tornado_settings = {  # noqa: F821
    "static_custom_path": [
        str(Path(__file__).with_name("custom")),
        f"{jupyter_config_dir()}/custom",
    ]
}
