"""CFAD: counterfactually fair anomaly detection, and audits of it.

The names below are imported on first use: ``import cfad_core`` itself loads neither torch nor pandas.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cfad_core.audit import run_audit
    from cfad_core.config import AuditConfig, DetectorConfig, DiscoveryConfig, Knowledge, preset
    from cfad_core.data.roles import ColumnRoles
    from cfad_core.data.synthetic import generate_synthetic
    from cfad_core.errors import AuditCancelled, CfadError
    from cfad_core.progress import Progress
    from cfad_core.result import AuditResult

__version__ = "0.1.0"

_HOMES = {
    "AuditCancelled": "cfad_core.errors",
    "AuditConfig": "cfad_core.config",
    "AuditResult": "cfad_core.result",
    "CfadError": "cfad_core.errors",
    "ColumnRoles": "cfad_core.data.roles",
    "DetectorConfig": "cfad_core.config",
    "DiscoveryConfig": "cfad_core.config",
    "Knowledge": "cfad_core.config",
    "Progress": "cfad_core.progress",
    "generate_synthetic": "cfad_core.data.synthetic",
    "preset": "cfad_core.config",
    "run_audit": "cfad_core.audit",
}

__all__ = [
    "AuditCancelled",
    "AuditConfig",
    "AuditResult",
    "CfadError",
    "ColumnRoles",
    "DetectorConfig",
    "DiscoveryConfig",
    "Knowledge",
    "Progress",
    "generate_synthetic",
    "preset",
    "run_audit",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'cfad_core' has no attribute '{name}'")
