import { Group, Modal, Stack, Text } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { keys } from '@/api/keys'
import { dumpStacks, stacksQuery } from '@/api/runs'
import type { Run, Stacks } from '@/api/types'
import { useNoRights } from '@/components/teams/useReadOnly'
import { announce } from '@/components/ui/Announcer'
import { Empty, ErrorNote, Loading } from '@/components/ui/Feedback'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { Moment } from '@/components/ui/Time'
import { stuckFrames, type FrameMark } from './stuck'
import classes from './stacks.module.css'

type Dump = Stacks['dumps'][number]

interface StacksDialogProps {
  /** The pipeline. */
  name: string
  run: Run
  onClose: () => void
}

/** What every thread of a run was doing: the dumps that a stop took, those that were asked for, and one more now. */
export function StacksDialog({ name, run, onClose }: StacksDialogProps) {
  const client = useQueryClient()
  const { data, error, refetch } = useQuery(stacksQuery(run.id))
  const readOnly = useNoRights(name)
  const dump = useMutation({
    mutationFn: () => dumpStacks(run.id),
    onSuccess: ({ dumps }) =>
      announce(dumps.length > 0 ? 'The stacks have arrived.' : 'The run has not responded yet.'),
    onSettled: () => client.invalidateQueries({ queryKey: keys.stacks(run.id) }),
  })
  return (
    <Modal opened onClose={onClose} title={`Stacks of run ${run.number}`} size="xl">
      <Stack gap="md">
        <Group justify="space-between">
          <Text size="sm" c="dimmed">
            {data?.elsewhere
              ? `The dumps are stored on its host: ${data.elsewhere}`
              : 'Newest first. A dump does not stop the run.'}
          </Text>
          <ReasonButton
            variant="default"
            loading={dump.isPending}
            reason={readOnly ?? (run.ended_at ? 'The run has ended.' : null)}
            onClick={() => dump.mutate()}
          >
            Take dump
          </ReasonButton>
        </Group>
        {(dump.error ?? error) && <ErrorNote error={(dump.error ?? error)!} onRetry={() => void refetch()} />}
        {dump.data?.dumps.length === 0 && (
          <Text size="sm" role="status">
            The run has not responded yet. Its dump appears here when it does.
          </Text>
        )}
        {!data && !error && <Loading />}
        {data?.dumps.length === 0 && <Empty title="No dumps" />}
        {data?.dumps.map((each) => (
          <DumpView key={`${each.at} ${each.stop_stage} ${each.number}`} dump={each} />
        ))}
      </Stack>
    </Modal>
  )
}

const TAKEN: Record<string, string> = {
  INTERRUPT: 'by interrupt',
  KILL: 'before the kill',
  live: 'on request',
  stalled: 'when it stalled',
  drain: 'when a pause timed out',
  crash: 'left by the crash',
}

function DumpView({ dump }: { dump: Dump }) {
  return (
    <section className={classes.dump}>
      <h3 className={classes.title}>
        <Moment at={dump.at} />, {TAKEN[dump.stop_stage] ?? dump.stop_stage}
        {dump.number > 0 && ` ${dump.number}`}
      </h3>
      {dump.stuck.length > 0 && <p className={classes.stuck}>Busy: {dump.stuck.join(', ')}</p>}
      {dump.silent.length > 0 && <p className={classes.stuck}>No response from: {dump.silent.join(', ')}</p>}
      {dump.files.map((file) => (
        <FileView key={file.name} file={file} stuck={dump.stuck} />
      ))}
    </section>
  )
}

/** One text; where a component is at work in it, it is open, and its frames are marked. */
function FileView({ file, stuck }: { file: Dump['files'][number]; stuck: string[] }) {
  const marked = stuckFrames(file.text, stuck)
  return (
    <details open={marked.size > 0}>
      <summary>
        {file.process} <span className="dim">({file.name})</span>
      </summary>
      <pre className={classes.text} tabIndex={0} aria-label={file.name}>
        {file.text
          ? file.text.split('\n').map((line, index) => (
              // eslint-disable-next-line react/no-array-index-key -- a dump never changes
              <Frame key={index} line={line} mark={marked.get(index)} />
            ))
          : 'The dump cannot be read here.'}
      </pre>
    </details>
  )
}

function Frame({ line, mark }: { line: string; mark: FrameMark | undefined }) {
  if (!mark) return `${line}\n`
  return (
    <mark className={classes.frame} data-frame={mark}>
      {line} {mark === 'blocked' ? '← stuck here' : '← component'}
      {'\n'}
    </mark>
  )
}
