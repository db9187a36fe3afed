import { IconAlertTriangle, IconCircleX } from '@tabler/icons-react'
import type { Finding } from '@/api/types'
import { Panel } from './Panel'
import classes from './findings.module.css'

interface FindingsProps {
  findings: Finding[]
  title?: string
  /** Called with a finding that a user wants to see in the text. */
  onShow?: (finding: Finding) => void
  /** Called with a finding that a user wants to see at its field. */
  onShowField?: (finding: Finding) => void
}

/** Findings in a panel of their own; nothing when there are none. */
export function Findings({ findings, title = 'Findings' }: FindingsProps) {
  if (findings.length === 0) return null
  return (
    <Panel title={title} flush>
      <FindingList findings={findings} />
    </Panel>
  )
}

/** Each finding: what is wrong, where, and what to do. */
export function FindingList({ findings, onShow, onShowField }: Omit<FindingsProps, 'title'>) {
  return (
    <ul className={classes.list}>
      {findings.map((finding) => (
        <li
          key={`${finding.path} ${finding.code} ${finding.message}`}
          className={classes.item}
          data-tone={finding.severity === 'error' ? 'bad' : 'warn'}
        >
          <Mark severity={finding.severity} />
          <div className={classes.words}>
            <Path finding={finding} onShow={onShow} />
            <div>{finding.message}</div>
            {finding.suggestion && <div className={classes.suggestion}>{finding.suggestion}</div>}
            {onShowField && finding.path && (
              <button type="button" className={classes.link} onClick={() => onShowField(finding)}>
                Show in form <span className="visually-hidden">{finding.path}</span>
              </button>
            )}
          </div>
          <span className={classes.code}>{finding.code}</span>
        </li>
      ))}
    </ul>
  )
}

function Mark({ severity }: Pick<Finding, 'severity'>) {
  const Shape = severity === 'error' ? IconCircleX : IconAlertTriangle
  return (
    <span className={classes.mark}>
      <Shape size={15} aria-hidden />
      <span className="visually-hidden">{severity === 'error' ? 'Error' : 'Warning'}</span>
    </span>
  )
}

function Path({ finding, onShow }: { finding: Finding; onShow?: (finding: Finding) => void }) {
  if (!finding.path) return null
  if (!onShow) return <div className={classes.path}>{finding.path}</div>
  return (
    <button type="button" className={classes.path} onClick={() => onShow(finding)}>
      {finding.path}
    </button>
  )
}
