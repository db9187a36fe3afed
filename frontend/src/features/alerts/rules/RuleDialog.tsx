import { NumberInput, SegmentedControl, Switch, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import { setAlertRule } from '@/api/alerts'
import { keys } from '@/api/keys'
import type { AlertRule, RuleOverride, RuleRequest } from '@/api/types'
import { ShowCall } from '@/components/actions/ShowCall'
import { FormDialog } from '@/components/ui/FormDialog'
import { useSending } from '@/components/ui/useSending'
import { alertRuleCall } from '@/domain/calls'
import { ruleWords } from '@/domain/matchers'
import { scopeWords, THRESHOLDS, type Threshold } from './words'

type Scope = 'all' | 'label' | 'pipeline'

const SCOPES = [
  { value: 'all', label: 'All pipelines' },
  { value: 'label', label: 'A label' },
  { value: 'pipeline', label: 'One pipeline' },
]

interface RuleDialogProps {
  rule: AlertRule
  /** What is changed; null for a new setting. */
  override: RuleOverride | null
  onClose: () => void
}

/** Sets a rule for all pipelines, for those with a label, or for one. An empty field leaves it to the wider settings. */
export function RuleDialog({ rule, override, onClose }: RuleDialogProps) {
  const [scope, setScope] = useState<Scope>(
    override?.pipeline ? 'pipeline' : override?.label ? 'label' : 'all',
  )
  const [name, setName] = useState(override?.pipeline || override?.label || '')
  const [enabled, setEnabled] = useState(override ? override.enabled : true)
  const [numbers, setNumbers] = useState<Numbers>(() => given(override))
  const body = bodyOf(rule, scope, name.trim(), enabled, numbers)
  const saving = useSending({
    send: () => setAlertRule(rule.rule, body),
    queryKey: keys.alertRules,
    done: () => `${ruleWords(rule.rule)} is set for ${scopeWords(body)}.`,
    onClose,
  })
  const field = (key: keyof Numbers) => ({
    value: numbers[key] ?? '',
    min: 0,
    onChange: (value: number | string) =>
      setNumbers((old) => ({ ...old, [key]: value === '' ? undefined : Number(value) })),
  })
  return (
    <FormDialog
      title={`Set rule: ${ruleWords(rule.rule)}`}
      submit="Set rule"
      size="lg"
      reason={scope !== 'all' && !name.trim() ? 'Enter where it applies first.' : null}
      sending={saving}
      call={<ShowCall call={alertRuleCall(rule.rule, body)} subject="Rule" />}
      onClose={onClose}
    >
      <Text size="sm">{rule.description.replaceAll('`', '')}</Text>
      {rule.about_pipelines && override === null && (
        <SegmentedControl
          aria-label="Where it applies"
          data={SCOPES}
          value={scope}
          onChange={(value) => setScope(value as Scope)}
        />
      )}
      {scope !== 'all' && (
        <TextInput
          label={scope === 'label' ? 'Label' : 'Pipeline'}
          description={scope === 'label' ? 'NAME:VALUE, or NAME for any value' : undefined}
          value={name}
          readOnly={override !== null}
          onChange={(event) => setName(event.currentTarget.value)}
          data-autofocus
        />
      )}
      <Switch
        label="Raises alerts"
        checked={enabled ?? true}
        onChange={(event) => setEnabled(event.currentTarget.checked)}
      />
      {enabled !== false &&
        rule.thresholds.map((each) => {
          const { label, description } = THRESHOLDS[each as Threshold]
          return (
            <NumberInput
              key={each}
              label={label}
              description={description[rule.rule]}
              placeholder={rule.defaults[each as Threshold]?.toString() ?? 'no limit'}
              {...field(each as Threshold)}
            />
          )
        })}
      {enabled !== false && (
        <NumberInput
          label="For seconds"
          description="How long it must be broken without interruption"
          placeholder={String(rule.defaults.for_seconds)}
          max={86_400}
          {...field('for_seconds')}
        />
      )}
    </FormDialog>
  )
}

type Numbers = Partial<Record<Threshold | 'for_seconds', number>>

/** What is set; 0 for a threshold that is switched off. */
function given(override: RuleOverride | null): Numbers {
  const names = ['records', 'seconds', 'deviations', 'for_seconds'] as const
  const value = (name: keyof Numbers) => (override?.off.includes(name) ? 0 : (override?.[name] ?? undefined))
  return Object.fromEntries(names.map((name) => [name, value(name)]))
}

/** What is left empty is left out, so that the wider settings count; 0 switches a threshold off. */
function bodyOf(
  rule: AlertRule,
  scope: Scope,
  name: string,
  enabled: boolean | null,
  numbers: Numbers,
): RuleRequest {
  const where = { label: scope === 'label' ? name : '', pipeline: scope === 'pipeline' ? name : '' }
  if (enabled === false) return { ...where, enabled }
  const limits = rule.thresholds.map((each) => [each, numbers[each as Threshold]] as const)
  const set = limits.filter(([, value]) => value !== undefined).map(([key, value]) => [key, value || null])
  return {
    ...where,
    ...(enabled === null ? {} : { enabled }),
    ...Object.fromEntries(set),
    ...(numbers.for_seconds === undefined ? {} : { for_seconds: numbers.for_seconds }),
  }
}
