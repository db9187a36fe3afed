import { Button, Group, Modal, Stack } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { IconCheck, IconClock, IconQuestionMark, IconX, type Icon } from '@tabler/icons-react'
import { useEffect, useRef } from 'react'
import { clusterTestQuery, testCluster } from '@/api/clusters'
import { keys } from '@/api/keys'
import type { ClusterTest, HostConnection } from '@/api/types'
import { ShowCall } from '@/components/actions/ShowCall'
import { announce } from '@/components/ui/Announcer'
import { Empty, ErrorNote, Unread } from '@/components/ui/Feedback'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { Ago } from '@/components/ui/Time'
import { ToneBadge } from '@/components/ui/ToneBadge'
import { testClusterCall } from '@/domain/installationCalls'
import type { Tone } from '@/domain/phases'
import { duration, plural } from '@/lib/format'
import classes from './installation.module.css'

const STATES: Record<HostConnection['state'], { tone: Tone; icon: Icon; word: string }> = {
  NOT_CHECKED: { tone: 'idle', icon: IconQuestionMark, word: 'Not checked' },
  CHECKING: { tone: 'busy', icon: IconClock, word: 'Checking' },
  REACHABLE: { tone: 'ok', icon: IconCheck, word: 'Reachable' },
  FAILED: { tone: 'bad', icon: IconX, word: 'Failed' },
}

interface ConnectionDialogProps {
  cluster: string
  /** Why the user may not test it. */
  refused: string | null
  onClose: () => void
}

/** What each host has found when it connected to the cluster last, and a button that has them do it now. */
export function ConnectionDialog({ cluster, refused, onClose }: ConnectionDialogProps) {
  const client = useQueryClient()
  const queryKey = keys.clusterTest(cluster)
  const query = useQuery(clusterTestQuery(cluster))
  const testing = useMutation({
    mutationFn: () => testCluster(cluster),
    onSuccess: (asked) => client.setQueryData(queryKey, asked),
    onError: () => client.invalidateQueries({ queryKey }),
  })
  const checking = testing.isPending || (query.data?.checking ?? false)
  useAnnouncedEnd(query.data)
  return (
    <Modal opened onClose={onClose} title={`Connection to ${cluster}`} size="lg">
      <Stack gap="md">
        <Unread query={query} what="connection" />
        {query.data && <Hosts test={query.data} />}
        {query.data && query.error && <ErrorNote error={query.error} />}
        {testing.error && <ErrorNote error={testing.error} />}
        <ShowCall call={testClusterCall(cluster)} subject="Test connection" />
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            Close
          </Button>
          <ReasonButton loading={checking} reason={refused} onClick={() => testing.mutate()} data-autofocus>
            Test connection
          </ReasonButton>
        </Group>
      </Stack>
    </Modal>
  )
}

/** Says how a test that was under way has ended. */
function useAnnouncedEnd(test: ClusterTest | undefined) {
  const checking = test?.checking ?? false
  const before = useRef(false)
  useEffect(() => {
    if (before.current && !checking) announce('The connection was tested.')
    before.current = checking
  }, [checking])
}

function Hosts({ test: { hosts } }: { test: ClusterTest }) {
  if (hosts.length === 0) return <Empty title="No hosts">Start a worker: its host connects.</Empty>
  return (
    <ul className={classes.hosts}>
      {hosts.map((each) => (
        <HostResult key={each.host} found={each} />
      ))}
    </ul>
  )
}

function HostResult({ found }: { found: HostConnection }) {
  const { tone, icon, word } = STATES[found.state]
  const servers = found.servers.some(({ reached }) => reached) ? found.servers : []
  return (
    <li className={classes.host}>
      <div className={classes.filters}>
        <strong>{found.host}</strong>
        <ToneBadge tone={tone} icon={icon}>
          {word}
        </ToneBadge>
        {found.checked_at && (
          <span className="dim">
            checked <Ago at={found.checked_at} />
          </span>
        )}
      </div>
      {found.message && (
        <div>
          {found.message} {found.code && <code>{found.code}</code>}
        </div>
      )}
      {found.hint && <div className="dim">{found.hint}</div>}
      {servers.map(({ server, reached, milliseconds, detail }) => (
        <div key={server}>
          <span className="mono">{server}</span>{' '}
          {reached ? `connected in ${duration(milliseconds)}` : `not reached. ${detail}`}
        </div>
      ))}
      {found.standalone && <div>{standaloneWords(found.standalone)}</div>}
      {found.unchecked.map((words) => (
        <div key={words} className="dim">
          Not checked: {words}
        </div>
      ))}
    </li>
  )
}

function standaloneWords(found: NonNullable<HostConnection['standalone']>): string {
  const { workers, dead_workers: dead, cores, free_cores: free, applications } = found
  const gone = dead > 0 ? `, ${dead} dead` : ''
  return `${plural(workers, 'live worker')}${gone}, ${free} of ${plural(cores, 'core')} free, ${plural(applications, 'application')}.`
}
