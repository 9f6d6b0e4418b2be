"""No test touches the learner's progress or the network, however pytest was started."""

import os
import tempfile

# Set before anything imports labkit; kernels and other processes that tests start inherit it.
_home = tempfile.TemporaryDirectory(prefix="labkit-tests-")
os.environ.update(LABKIT_HOME=_home.name, LABKIT_OFFLINE="1", LABKIT_PROGRESS="off")
