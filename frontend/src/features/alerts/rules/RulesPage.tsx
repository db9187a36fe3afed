import { Button } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { alertRulesQuery, resetAlertRule } from '@/api/alerts'
import { keys } from '@/api/keys'
import type { AlertRule, RuleOverride } from '@/api/types'
import { useReadOnly, useRefusal } from '@/components/teams/useReadOnly'
import { announce } from '@/components/ui/Announcer'
import { Empty, ErrorNote, Loading } from '@/components/ui/Feedback'
import { FilterInput } from '@/components/ui/FilterInput'
import { PageHeader } from '@/components/ui/PageHeader'
import { Panel } from '@/components/ui/Panel'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { Table } from '@/components/ui/Table'
import { ToneBadge } from '@/components/ui/ToneBadge'
import { ruleWords } from '@/domain/matchers'
import { cannotWrite } from '@/domain/roles'
import { SEVERITIES } from '@/domain/severities'
import { useBarred } from '@/lib/session'
import { RuleDialog } from './RuleDialog'
import { docsOf, scopeWords, settingWords } from './words'
import classes from '../alerts.module.css'

interface Changed {
  rule: AlertRule
  override: RuleOverride | null
}

/** When rules raise alerts: what each watches, its defaults, and what is set for whom. */
export function RulesPage() {
  const { text } = useSearch({ from: '/alerts/rules' })
  const navigate = useNavigate({ from: '/alerts/rules' })
  const { data, error, refetch } = useQuery(alertRulesQuery)
  const [changed, setChanged] = useState<Changed | null>(null)
  const shown = data?.filter((each) => matches(each, text)) ?? []
  return (
    <div className={classes.page}>
      <PageHeader
        title="Alert rules"
        before={
          <nav aria-label="Breadcrumb" className={classes.crumbs}>
            <Link to="/alerts">Alerts</Link>
          </nav>
        }
        beside={<span className="dim">the more specific setting wins, key by key</span>}
      >
        <div className={classes.filters}>
          <FilterInput
            label="Rule"
            placeholder="Rule, pipeline or label"
            value={text ?? ''}
            onChange={(value) => void navigate({ search: { text: value || undefined }, replace: true })}
          />
        </div>
      </PageHeader>
      {error && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Loading rows={8} />}
      {data && (
        <Panel title="Rules" flush>
          {shown.length === 0 ? (
            <Empty title="No rules match">Clear the filter to see all.</Empty>
          ) : (
            <RuleTable rules={shown} onChange={setChanged} />
          )}
        </Panel>
      )}
      {changed && <RuleDialog {...changed} onClose={() => setChanged(null)} />}
    </div>
  )
}

function matches({ rule, description, overrides }: AlertRule, text = ''): boolean {
  const scopes = overrides.map(scopeWords).join(' ')
  return `${ruleWords(rule)} ${description} ${scopes}`.toLowerCase().includes(text.toLowerCase())
}

function RuleTable({ rules, onChange }: { rules: AlertRule[]; onChange: (changed: Changed) => void }) {
  return (
    <Table
      label="Rules"
      head={
        <>
          <th>Rule</th>
          <th>Severity</th>
          <th>What it watches</th>
          <th>Default</th>
          <th>Settings</th>
        </>
      }
    >
      {rules.map((rule) => (
        <RuleRow key={rule.rule} rule={rule} onChange={onChange} />
      ))}
    </Table>
  )
}

function RuleRow({ rule, onChange }: { rule: AlertRule; onChange: (changed: Changed) => void }) {
  const refused = useBarred(cannotWrite)
  const { word, tone, icon } = SEVERITIES[rule.severity]
  return (
    <tr>
      <th scope="row">{ruleWords(rule.rule)}</th>
      <td>
        <ToneBadge tone={tone} icon={icon}>
          {word}
        </ToneBadge>
      </td>
      <td className={classes.words}>
        {rule.description.replaceAll('`', '')}{' '}
        <a href={docsOf(rule.rule)} target="_blank" rel="noreferrer">
          Documentation
          <span className="visually-hidden"> of {ruleWords(rule.rule)} (opens in a new tab)</span>
        </a>
      </td>
      <td>{settingWords(rule, rule.defaults)}</td>
      <td className={classes.settings}>
        {rule.overrides.map((override) => (
          <Override
            key={scopeWords(override)}
            rule={rule}
            override={override}
            onChange={() => onChange({ rule, override })}
          />
        ))}
        <ReasonButton
          variant="default"
          size="compact-xs"
          reason={refused}
          aria-label={`Set rule: ${ruleWords(rule.rule)}`}
          onClick={() => onChange({ rule, override: null })}
        >
          Set rule
        </ReasonButton>
      </td>
    </tr>
  )
}

interface OverrideProps extends Changed {
  override: RuleOverride
  onChange: () => void
}

function Override({ rule, override, onChange }: OverrideProps) {
  const client = useQueryClient()
  const { label, pipeline } = override
  const everywhere = useRefusal()(null)
  const ofPipeline = useReadOnly(pipeline || null)
  const refused = pipeline ? ofPipeline : everywhere
  const where = `${ruleWords(rule.rule)} for ${scopeWords(override)}`
  const reset = useMutation({
    mutationFn: () => resetAlertRule(rule.rule, { label, pipeline }),
    onSuccess: () => announce(`${where} is reset.`),
    onSettled: () => client.invalidateQueries({ queryKey: keys.alertRules }),
  })
  return (
    <div className={classes.facts}>
      <span className={classes.subject}>
        {scopeWords(override)}: {settingWords(rule, override)}
      </span>
      <span className="dim">by {override.updated_by}</span>
      {!refused && (
        <>
          <Button variant="subtle" size="compact-xs" aria-label={`Change ${where}`} onClick={onChange}>
            Change
          </Button>
          <Button
            variant="subtle"
            size="compact-xs"
            aria-label={`Reset ${where}`}
            loading={reset.isPending}
            onClick={() => reset.mutate()}
          >
            Reset
          </Button>
        </>
      )}
      {reset.error && <ErrorNote error={reset.error} />}
    </div>
  )
}
