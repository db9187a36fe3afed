import type { Alert } from '@/api/types'
import { ruleWords } from '@/domain/matchers'

export type Grouping = 'pipeline' | 'rule'

export interface AlertGroup {
  title: string
  alerts: Alert[]
}

/** Alerts in groups, in the order of their first ones; one group without a name where nothing is grouped. */
export function grouped(alerts: Alert[], by: Grouping | undefined): AlertGroup[] {
  const found = new Map<string, Alert[]>()
  for (const alert of alerts) {
    const title = titleOf(alert, by)
    found.set(title, [...(found.get(title) ?? []), alert])
  }
  return [...found].map(([title, members]) => ({ title, alerts: members }))
}

function titleOf(alert: Alert, by: Grouping | undefined): string {
  if (by === 'rule') return ruleWords(alert.rule)
  return by === 'pipeline' ? (alert.pipeline ?? 'About no pipeline') : ''
}
