"""CFAD: counterfactually fair anomaly detection, and audits of it.

The names below are imported on first use: ``import cfad_core`` itself loads neither torch nor pandas.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cfad_core.audit.answering import audit_detector
    from cfad_core.audit.batch import Batch
    from cfad_core.audit.batches import measure_batch
    from cfad_core.audit.folder import load_audit, save_audit
    from cfad_core.audit.gate import Check, Gate, check_gate
    from cfad_core.audit.group_report import GroupReport
    from cfad_core.audit.history import append_batch, read_history
    from cfad_core.audit.report import MethodReport
    from cfad_core.audit.result import AuditResult
    from cfad_core.audit.run import run_audit
    from cfad_core.audit.scoring import explain_rows, score_rows, twin_rows
    from cfad_core.audit.statements import JustifiedPath, Statements
    from cfad_core.client import Client
    from cfad_core.core.config import AskedDetector, AuditConfig, DetectorConfig, DiscoveryConfig, Knowledge, preset
    from cfad_core.core.errors import AuditCancelled, CfadError
    from cfad_core.core.progress import Progress
    from cfad_core.data.attributes import Attribute
    from cfad_core.data.roles import ColumnRoles
    from cfad_core.data.sets.synthetic import generate_synthetic
    from cfad_core.report.making import write_report

__version__ = "0.1.0"

_HOMES = {
    "AskedDetector": "cfad_core.core.config",
    "Attribute": "cfad_core.data.attributes",
    "AuditCancelled": "cfad_core.core.errors",
    "AuditConfig": "cfad_core.core.config",
    "AuditResult": "cfad_core.audit.result",
    "Batch": "cfad_core.audit.batch",
    "CfadError": "cfad_core.core.errors",
    "Check": "cfad_core.audit.gate",
    "Client": "cfad_core.client",
    "ColumnRoles": "cfad_core.data.roles",
    "DetectorConfig": "cfad_core.core.config",
    "DiscoveryConfig": "cfad_core.core.config",
    "Gate": "cfad_core.audit.gate",
    "GroupReport": "cfad_core.audit.group_report",
    "JustifiedPath": "cfad_core.audit.statements",
    "Knowledge": "cfad_core.core.config",
    "MethodReport": "cfad_core.audit.report",
    "Progress": "cfad_core.core.progress",
    "Statements": "cfad_core.audit.statements",
    "append_batch": "cfad_core.audit.history",
    "audit_detector": "cfad_core.audit.answering",
    "check_gate": "cfad_core.audit.gate",
    "explain_rows": "cfad_core.audit.scoring",
    "generate_synthetic": "cfad_core.data.sets.synthetic",
    "load_audit": "cfad_core.audit.folder",
    "measure_batch": "cfad_core.audit.batches",
    "preset": "cfad_core.core.config",
    "read_history": "cfad_core.audit.history",
    "run_audit": "cfad_core.audit.run",
    "save_audit": "cfad_core.audit.folder",
    "score_rows": "cfad_core.audit.scoring",
    "twin_rows": "cfad_core.audit.scoring",
    "write_report": "cfad_core.report.making",
}

__all__ = [
    "AskedDetector",
    "Attribute",
    "AuditCancelled",
    "AuditConfig",
    "AuditResult",
    "Batch",
    "CfadError",
    "Check",
    "Client",
    "ColumnRoles",
    "DetectorConfig",
    "DiscoveryConfig",
    "Gate",
    "GroupReport",
    "JustifiedPath",
    "Knowledge",
    "MethodReport",
    "Progress",
    "Statements",
    "append_batch",
    "audit_detector",
    "check_gate",
    "explain_rows",
    "generate_synthetic",
    "load_audit",
    "measure_batch",
    "preset",
    "read_history",
    "run_audit",
    "save_audit",
    "score_rows",
    "twin_rows",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'cfad_core' has no attribute '{name}'")
