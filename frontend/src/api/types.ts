import type { components } from './schema'

/** Short names for the objects of REST /api/v1, all generated from its OpenAPI schema. */
type Schemas = components['schemas']

export type Action = Schemas['Action']
export type AllowedAction = Schemas['AllowedAction']
export type Alert = Schemas['Alert']
export type AlertCounts = Schemas['AlertCounts']
export type AlertDelivery = Schemas['AlertDelivery']
export type ApprovalPolicy = Schemas['ApprovalPolicy']
export type ApprovalPolicyRequest = Schemas['PolicyBody']
export type ChangeBody = Schemas['ChangeBody']
export type ChangeKind = Schemas['ChangeKind']
export type ChangeRequest = Schemas['ChangeRequest']
export type SourceOfTruth = Schemas['SourceOfTruth']
export type Change = Schemas['Change']
export type AuditChain = Schemas['AuditChain']
export type AuditForwarding = Schemas['AuditForwarding']
export type AuditEntry = Schemas['Audit']
export type ChannelLedgerTotals = Schemas['ChannelLedgerTotals']
export type ComponentState = Schemas['ComponentState']
export type Condition = Schemas['Condition']
export type Consequence = Schemas['Consequence']
export type DeadLetter = Schemas['DeadLetter']
export type DeadLetterDetail = Schemas['DeadLetterDetail']
export type DeadLettersSummary = Schemas['DeadLettersSummary']
export type DesiredState = Schemas['DesiredState']
export type Evacuation = Schemas['Evacuation']
/** Without rules each pipeline is observed by those that are usual. */
export type EvacuationRequest = Schemas['EvacuationBody']
export type ObservationRules = Schemas['ObservationRules']
export type FailedSink = Schemas['FailedSink']
export type Finding = Schemas['Finding']
export type Freeze = Schemas['Freeze']
export type FreezeRequest = Schemas['FreezeBody']
export type HeadgateEvent = Schemas['Event']
export type Host = Schemas['Host']
export type HostDetail = Schemas['HostDetail']
export type IngestBuffer = Schemas['IngestBuffer']
export type Lag = Schemas['Lag']
export type LedgerBatch = Schemas['LedgerBatch']
export type LedgerSummary = Schemas['LedgerTotals']
export type Live = Schemas['Live']
export type LogChunk = Schemas['Log']
export type Migration = Schemas['Migration']
export type MigrationAction = Schemas['MigrationAction']
export type MigrationChoice = Schemas['MigrationChoice']
export type MigrationDetail = Schemas['MigrationDetail']
export type MigrationKind = Schemas['MigrationKind']
export type ChannelGuarantee = Schemas['ChannelGuarantee']
export type MigrationPlan = Schemas['MigrationPlan']
export type MigrationRequest = Omit<Schemas['MigrationBody'], 'spec'> & { spec: MigrationSpec }
export type MigrationStage = Schemas['MigrationStage']
export type MigrationStep = Schemas['MigrationStep']
/** What is asked for; its keys depend on the kind. */
export type MigrationSpec = Record<string, unknown>
export type OffsetRange = Schemas['Range']
export type Operation = Schemas['Operation']
export type OperationKind = Schemas['OperationKind']
/** Operations that a button of the pipeline asks for; a retry or a replay is requested with its dead letters, or its range. */
export type ActionKind = Exclude<OperationKind, 'retry' | 'replay_range'>
export type PartitionTranslation = Schemas['PartitionTranslation']
export type Phase = Schemas['Phase']
export type Pipeline = Schemas['Pipeline']
export type PipelineDetail = Schemas['PipelineDetail']
export type PipelineStatus = Schemas['Status']
export type Position = Schemas['Position']
export type PositionChoice = Schemas['Choice']
export type PositionMove = Schemas['Move']
export type PositionPlan = Schemas['Plan']
export type Positions = Schemas['Positions']
export type ProblemBody = Schemas['Problem']
export type Quarantine = Schemas['Quarantine']
export type QuarantineRequest = Schemas['QuarantineBody']
export type QueryStatus = Schemas['Query']
export type RangePlan = Schemas['RangePlan']
export type RangeReplay = Schemas['RangeReplay']
export type ReplayRange = Schemas['RangeBody']
export type ReplayRequest = Schemas['ReplayBody']
export type Revision = Schemas['Revision']
export type Run = Schemas['Run']
export type Secret = Schemas['Secret']
export type SecondFactor = Schemas['SecondFactor']
export type SeriesPoint = Omit<Schemas['Point'], 'records_per_second'> & { records_per_second: number | null }
export type Session = Schemas['Session']
export type SinkEnd = Schemas['SinkEnd']
export type SinkGroup = Schemas['Group']
export type Step = Schemas['Step']
export type Stacks = Schemas['Stacks']
/** How to stop; the server knows what is left out. */
export type StopBody = Partial<Schemas['StopBody']>
export type RestartBody = Partial<Schemas['RestartBody']>
export type DrainBody = Schemas['DrainBody']
export type StopReason = Schemas['StopReason']
export type ExternalGroup = Schemas['ExternalGroup']
export type Receiver = Schemas['Receiver']
export type ReceiverDelivery = Schemas['Delivery']
export type ReceiverKind = Schemas['ReceiverKind']
export type ReceiverRequest = Schemas['ReceiverBody']
export type Matchers = Schemas['Matchers']
export type Severity = Schemas['Severity']
export type Silence = Schemas['Silence']
export type SilenceRequest = Schemas['SilenceBody']
export type Suspect = Schemas['Suspect']
export type Token = Schemas['Token']
export type TokenRequest = Schemas['TokenBody']
export type UserRequest = Schemas['UserBody']
export type UserChange = Schemas['PatchedUserChangeBody']
export type PasswordRequest = Schemas['PasswordBody']
export type User = Schemas['User']
export type Validation = Schemas['Validation']

export interface Page<T> {
  results: T[]
  next: string | null
}

/** Data of an event-stream frame named `live`; OpenAPI does not describe frames. */
export type LiveFrame = Pick<
  Pipeline,
  'phase' | 'desired_state' | 'generation' | 'observed_generation' | 'live' | 'updated_at'
> & { pipeline: string; queries: QueryStatus[] }
