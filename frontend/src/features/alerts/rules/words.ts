import type { AlertRule, RuleOverride } from '@/api/types'
import { duration } from '@/lib/format'

type Settings = Partial<
  Pick<RuleOverride, 'enabled' | 'for_seconds' | 'records' | 'seconds' | 'deviations' | 'off'>
>

export type Threshold = 'records' | 'seconds' | 'deviations'

export const THRESHOLDS: Record<Threshold, { label: string; description: Record<string, string> }> = {
  records: {
    label: 'Records',
    description: {
      lag: 'More waiting records raise an alert',
      output: 'The fewest that are read for a comparison',
    },
  },
  seconds: {
    label: 'Seconds',
    description: {
      lag: 'An older waiting record raises an alert',
      output: 'The time that is compared, an hour at most',
    },
  },
  deviations: {
    label: 'Deviations',
    description: { output: 'The width of the band around what was usual' },
  },
}

const DOCS: Record<string, string> = {
  output: 'guides/lag-and-alerts/#watch-the-output',
  audit_broken: 'guides/audit/#verify-the-chain',
  group_moved: 'guides/consumer-groups/',
  group_lost: 'guides/consumer-groups/',
  host_silent: 'guides/recover-from-a-lost-host/',
  migration_waits: 'guides/migrate-a-pipeline/',
}

/** The page of the documentation about a rule. */
export const docsOf = (rule: string) =>
  `/docs/${DOCS[rule] ?? 'guides/lag-and-alerts/#list-and-acknowledge-alerts'}`

/** What is set, in a line; what is not set comes from the wider settings. */
export function settingWords({ thresholds }: AlertRule, settings: Settings): string {
  if (settings.enabled === false) return 'Off'
  const limits = [
    thresholds.includes('records') &&
      settings.records != null &&
      `${settings.records.toLocaleString('en-US')} records`,
    thresholds.includes('seconds') && settings.seconds != null && duration(settings.seconds * 1_000),
    thresholds.includes('deviations') && settings.deviations != null && `${settings.deviations} deviations`,
    ...(settings.off ?? []).map((name) => `no limit of ${name}`),
    settings.for_seconds ? `for ${duration(settings.for_seconds * 1_000)}` : null,
  ]
  return limits.filter(Boolean).join(', ') || 'On'
}

/** Where a setting applies. */
export const scopeWords = ({ label, pipeline }: Pick<RuleOverride, 'label' | 'pipeline'>) =>
  pipeline ? `pipeline ${pipeline}` : label ? `label ${label}` : 'all pipelines'
