"""The tables. Services write them, selectors read them; nothing else does."""

from pipelines.models.access import DEFAULT_TEAM, AccessToken, LoginCount, RoleBinding, Team
from pipelines.models.alerts import Alert, AlertSetting
from pipelines.models.cluster import Cluster, ConnectionTest
from pipelines.models.dead_letter import DeadLetter
from pipelines.models.definition import Pipeline
from pipelines.models.event import AuditCheck, AuditForwarding, AuditHead, AuditRow, Event, IdempotencyKey
from pipelines.models.governance import ChangeApproval, ChangeRequest, ReadOnlyMode
from pipelines.models.guide import DemoFault
from pipelines.models.ledger import ChannelTotals, ComponentTotals, LedgerBatch, Position, Sample
from pipelines.models.migration import ApprovalPolicy, Evacuation, FreezeWindow, Migration, MigrationApproval
from pipelines.models.output import OutputVerdict
from pipelines.models.peek import Peek
from pipelines.models.positions import LogIdentity, PositionInspection
from pipelines.models.preview import CaseRun, Preview, PreviewDifference
from pipelines.models.purged import Purged
from pipelines.models.quarantine import Quarantine
from pipelines.models.reach import AllowedNetwork, AllowedRoot
from pipelines.models.receiver import Delivery, Receiver
from pipelines.models.reconciliation import Reconciliation
from pipelines.models.revision import Revision
from pipelines.models.run import Host, Run, RunNumber, Supervision
from pipelines.models.secret import Secret
from pipelines.models.series import LagPoint
from pipelines.models.shadow import ShadowTask
from pipelines.models.sign_in import Identity, Passkey, RecoveryCode, Totp
from pipelines.models.silence import Silence
from pipelines.models.trace import RecordTrace
from pipelines.models.tracing import PendingTrace
from pipelines.models.watching import ExternalGroup, GroupSnapshot
from pipelines.models.workflow import Operation

__all__ = [
    "DEFAULT_TEAM",
    "AccessToken",
    "Alert",
    "AlertSetting",
    "AllowedNetwork",
    "AllowedRoot",
    "ApprovalPolicy",
    "AuditCheck",
    "AuditForwarding",
    "AuditHead",
    "AuditRow",
    "CaseRun",
    "ChangeApproval",
    "ChangeRequest",
    "ChannelTotals",
    "Cluster",
    "ComponentTotals",
    "ConnectionTest",
    "DeadLetter",
    "Delivery",
    "DemoFault",
    "Evacuation",
    "Event",
    "ExternalGroup",
    "FreezeWindow",
    "GroupSnapshot",
    "Host",
    "IdempotencyKey",
    "Identity",
    "LagPoint",
    "LedgerBatch",
    "LogIdentity",
    "LoginCount",
    "Migration",
    "MigrationApproval",
    "Operation",
    "OutputVerdict",
    "Passkey",
    "Peek",
    "PendingTrace",
    "Pipeline",
    "Position",
    "PositionInspection",
    "Preview",
    "PreviewDifference",
    "Purged",
    "Quarantine",
    "ReadOnlyMode",
    "Receiver",
    "Reconciliation",
    "RecordTrace",
    "RecoveryCode",
    "Revision",
    "RoleBinding",
    "Run",
    "RunNumber",
    "Sample",
    "Secret",
    "ShadowTask",
    "Silence",
    "Supervision",
    "Team",
    "Totp",
]
