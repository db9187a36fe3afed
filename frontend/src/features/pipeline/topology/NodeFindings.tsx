import { Text } from '@mantine/core'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { alertsQuery } from '@/api/alerts'
import { keys } from '@/api/keys'
import { pipelineQuery, statusQuery, validate } from '@/api/pipelines'
import { Unread } from '@/components/ui/Feedback'
import { FindingList } from '@/components/ui/Findings'
import { ToneBadge } from '@/components/ui/ToneBadge'
import { SEVERITIES } from '@/domain/severities'
import { liesIn, names } from './nodes'
import classes from './topology.module.css'

interface FindingsProps {
  name: string
  path: string
  /** Of every component of the pipeline. */
  paths: string[]
}

/** What is wrong with one component: what the validation of its revision finds, what the agent reports, and which alerts name it. */
export function NodeFindings({ name, path, paths }: FindingsProps) {
  const status = useQuery(statusQuery(name))
  const validation = useValidated(name)
  const alerts = useInfiniteQuery(alertsQuery({ pipeline: name }))
  const findings = [...(status.data?.findings ?? []), ...(validation.data?.findings ?? [])].filter((each) =>
    liesIn(each.path, path, paths),
  )
  const conditions = status.data?.conditions.filter(
    (each) => each.status === 'False' && names(each.message, path),
  )
  const firing = alerts.data?.pages
    .flatMap(({ results }) => results)
    .filter(({ message, data }) => names(`${message} ${JSON.stringify(data)}`, path))
  const known = status.data && validation.data && alerts.data
  return (
    <section aria-label="Findings of this component" className={classes.findings}>
      <Unread query={status} what="status" />
      <Unread query={validation} what="findings of the definition" />
      <Unread query={alerts} what="alerts" />
      {findings.length > 0 && <FindingList findings={findings} />}
      {conditions?.map(({ type, message }) => (
        <p key={type}>{message}</p>
      ))}
      {firing?.map(({ id, severity, message, rule }) => (
        <p key={id}>
          <ToneBadge tone={SEVERITIES[severity].tone} icon={SEVERITIES[severity].icon}>
            Alert
          </ToneBadge>{' '}
          {message}{' '}
          <Link to="/alerts" search={{ pipeline: name, rule }}>
            Open alert
          </Link>
        </p>
      ))}
      {known && findings.length + (conditions?.length ?? 0) + (firing?.length ?? 0) === 0 && (
        <Text size="sm">No findings: its definition is valid, and no condition or alert names it.</Text>
      )}
    </section>
  )
}

const FRESH_MS = 30_000

/** What the server finds in the definition of the present revision. */
function useValidated(name: string) {
  const { data } = useQuery(pipelineQuery(name))
  const text = data?.definition_yaml ?? ''
  return useQuery({
    queryKey: keys.validation(text),
    queryFn: ({ signal }) => validate(text, signal),
    enabled: text !== '',
    staleTime: FRESH_MS,
  })
}
