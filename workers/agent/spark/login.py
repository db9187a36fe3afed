"""Hadoop's user of an agent that runs as a number without a name.

Hadoop asks the machine's list of users for the name behind the process, and without one it opens no file system.
"""

from __future__ import annotations

import os
import pwd
from typing import Any

_NAME = "headgate-agent"


def name_user(jvm: Any) -> None:
    """Log Hadoop in under a name of our own, where the machine has none; HADOOP_USER_NAME says another."""
    try:
        pwd.getpwuid(os.getuid())
    except KeyError:
        users = jvm.org.apache.hadoop.security.UserGroupInformation
        users.setLoginUser(users.createRemoteUser(os.environ.get("HADOOP_USER_NAME", _NAME)))
