import { useQuery } from '@tanstack/react-query'
import { IconPlus } from '@tabler/icons-react'
import { useState } from 'react'
import { keys } from '@/api/keys'
import { allowedNetworksQuery, allowedRootsQuery, removeNetwork, removeRoot } from '@/api/reach'
import type { AllowedNetwork, AllowedRoot } from '@/api/types'
import { RemovalDialog } from '@/components/actions/RemovalDialog'
import { Empty, ErrorNote, Loading } from '@/components/ui/Feedback'
import { Panel } from '@/components/ui/Panel'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { Table } from '@/components/ui/Table'
import { Moment } from '@/components/ui/Time'
import { removeRuleCall } from '@/domain/installationCalls'
import { cannotAdministerAll } from '@/domain/roles'
import { useBarred } from '@/lib/session'
import { NetworkDialog, RootDialog } from './ReachDialogs'
import classes from './installation.module.css'

/** The directories and servers that pipelines reach, beside those of HEADGATE_ALLOWED_ROOTS and _NETWORKS. */
export function ReachTab() {
  const roots = useQuery(allowedRootsQuery)
  const networks = useQuery(allowedNetworksQuery)
  const [asked, setAsked] = useState<'root' | 'network' | null>(null)
  const [root, setRoot] = useState<AllowedRoot | null>(null)
  const [network, setNetwork] = useState<AllowedNetwork | null>(null)
  return (
    <>
      <p className="dim">
        These rules count beside those of HEADGATE_ALLOWED_ROOTS and HEADGATE_ALLOWED_NETWORKS.{' '}
        <a href="/docs/guides/reach/" target="_blank" rel="noreferrer">
          Documentation<span className="visually-hidden"> of reach (opens in a new tab)</span>
        </a>
      </p>
      <RulePanel
        title="Allowed directories"
        empty="No directories are allowed here"
        button="Allow directory"
        query={roots}
        onAdd={() => setAsked('root')}
        what={({ path }) => path}
        how={({ mode }) => (mode === 'write' ? 'read and write' : 'read')}
        onRemove={setRoot}
      />
      <RulePanel
        title="Allowed networks"
        empty="No networks are allowed here"
        button="Allow network"
        query={networks}
        onAdd={() => setAsked('network')}
        what={({ target }) => target}
        how={({ ports }) => (ports === '*' ? 'every port' : `ports ${ports}`)}
        onRemove={setNetwork}
      />
      {asked === 'root' && <RootDialog onClose={() => setAsked(null)} />}
      {asked === 'network' && <NetworkDialog onClose={() => setAsked(null)} />}
      {root && (
        <RemoveDialog
          what={root.path}
          call={removeRuleCall('allowed-roots', root.id)}
          remove={() => removeRoot(root.id)}
          queryKey={keys.allowedRoots}
          onClose={() => setRoot(null)}
        />
      )}
      {network && (
        <RemoveDialog
          what={network.target}
          call={removeRuleCall('allowed-networks', network.id)}
          remove={() => removeNetwork(network.id)}
          queryKey={keys.allowedNetworks}
          onClose={() => setNetwork(null)}
        />
      )}
    </>
  )
}

interface RulePanelProps<T> {
  title: string
  empty: string
  button: string
  query: { data?: T[]; error: Error | null; refetch: () => unknown }
  what: (rule: T) => string
  how: (rule: T) => string
  onAdd: () => void
  onRemove: (rule: T) => void
}

function RulePanel<T extends AllowedRoot | AllowedNetwork>(props: RulePanelProps<T>) {
  const { title, empty, button, what, how, onAdd, onRemove } = props
  const { data, error, refetch } = props.query
  const refused = useBarred(cannotAdministerAll)
  return (
    <Panel
      title={title}
      flush
      actions={
        <ReasonButton
          variant="default"
          leftSection={<IconPlus size={14} aria-hidden />}
          reason={refused}
          onClick={onAdd}
        >
          {button}
        </ReasonButton>
      }
    >
      {error && !data && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Loading />}
      {data?.length === 0 && <Empty title={empty}>Pipelines reach what the settings allow.</Empty>}
      {data && data.length > 0 && (
        <Table
          label={title}
          head={
            <>
              <th>Allowed</th>
              <th>How</th>
              <th>Team</th>
              <th>Note</th>
              <th className={classes.wide}>Added</th>
              <th>
                <span className="visually-hidden">Actions</span>
              </th>
            </>
          }
        >
          {data.map((rule) => (
            <RuleRow
              key={rule.id}
              rule={rule}
              what={what(rule)}
              how={how(rule)}
              refused={refused}
              onRemove={() => onRemove(rule)}
            />
          ))}
        </Table>
      )}
    </Panel>
  )
}

interface RuleRowProps {
  rule: AllowedRoot | AllowedNetwork
  what: string
  how: string
  refused: string | null
  onRemove: () => void
}

function RuleRow({ rule, what, how, refused, onRemove }: RuleRowProps) {
  return (
    <tr>
      <th scope="row" className="mono">
        {what}
      </th>
      <td>{how}</td>
      <td>{rule.team ?? 'all'}</td>
      <td className={classes.value}>{rule.note || '-'}</td>
      <td className={classes.wide}>
        <Moment at={rule.created_at} /> <span className="dim">by {rule.created_by}</span>
      </td>
      <td>
        <ReasonButton
          variant="default"
          size="compact-xs"
          reason={refused}
          aria-label={`Remove ${what}`}
          onClick={onRemove}
        >
          Remove
        </ReasonButton>
      </td>
    </tr>
  )
}

type RemoveDialogProps = { what: string } & Pick<
  Parameters<typeof RemovalDialog>[0],
  'call' | 'remove' | 'queryKey' | 'onClose'
>

function RemoveDialog({ what, ...removal }: RemoveDialogProps) {
  return (
    <RemovalDialog
      title={`Remove ${what}?`}
      words="Running pipelines continue. Later starts of pipelines that reach it are refused, unless another rule allows it."
      button="Remove rule"
      done={`${what} is no longer allowed.`}
      {...removal}
    />
  )
}
