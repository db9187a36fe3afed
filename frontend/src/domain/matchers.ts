import type { Matchers } from '@/api/types'

/** A rule's name as people read it. */
export const ruleWords = (rule: string) => rule.replaceAll('_', ' ')

/** Matchers in one line. */
export function matcherWords({ pipelines, labels, rules, severities }: Matchers): string {
  const parts = [
    ['pipeline', pipelines],
    ['label', labels],
    ['rule', rules.map(ruleWords)],
    ['severity', severities],
  ] as const
  const given = parts.filter(([, values]) => values.length > 0)
  return given.map(([name, values]) => `${name} ${values.join(', ')}`).join('; ') || 'all alerts'
}
