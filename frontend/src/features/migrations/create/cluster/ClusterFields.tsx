import { Radio, Select, TextInput } from '@mantine/core'
import { Panel } from '@/components/ui/Panel'
import type { FieldsProps } from '../fields'
import { wordsAt } from '@/domain/findings'
import { type By, choose, type ClusterDraft, hasHeader, isSink, movable } from './draft'
import { GivenOffsets } from './GivenOffsets'
import { type ClusterPartProps, KeyField } from './KeyField'
import { OptionRows } from './OptionRows'
import { TopicRows } from './TopicRows'
import classes from '../../migrations.module.css'

/** A source or a sink, and where it lies on the other cluster. What the server finds stands at the field that it means. */
export function ClusterFields({ pipeline, draft, onChange, findings }: FieldsProps) {
  const { cluster } = draft
  const components = movable(pipeline.definition)
  const props = {
    cluster,
    findings,
    onChange: (change: Partial<ClusterDraft>) => onChange({ cluster: { ...cluster, ...change } }),
  }
  return (
    <>
      <Panel title="Component" note="the other components stay where they are">
        {components.length === 0 ? (
          <p className={classes.note}>{pipeline.name} has no Kafka source and no Kafka sink.</p>
        ) : (
          <Select
            label="Source or sink"
            placeholder="Choose a component"
            data={components}
            value={cluster.path}
            onChange={(path) => path && onChange({ cluster: choose(pipeline.definition, path) })}
            allowDeselect={false}
            maw={420}
          />
        )}
      </Panel>
      {cluster.path !== null && <Where {...props} />}
      {cluster.path !== null && !isSink(cluster) && (
        <>
          <TopicRows {...props} />
          <Positions {...props} name={pipeline.name} />
        </>
      )}
    </>
  )
}

function Where(props: ClusterPartProps) {
  const { cluster } = props
  const present = String(cluster.present.bootstrap_servers ?? '')
  return (
    <Panel title="New cluster" note={`${cluster.path} is on ${present} now`}>
      <div className={classes.form}>
        <KeyField
          {...props}
          field="servers"
          at="bootstrap_servers"
          label="Bootstrap servers"
          description="Brokers of the new cluster: host:port, separated by commas"
        />
        {isSink(cluster) ? (
          <SinkKeys {...props} />
        ) : (
          <KeyField
            {...props}
            field="group"
            at="group_id"
            label="Consumer group ID"
            description="The consumer group on the new cluster. Its committed offsets must not be ahead of the start positions."
          />
        )}
        <OptionRows {...props} />
      </div>
    </Panel>
  )
}

function SinkKeys(props: ClusterPartProps) {
  return (
    <>
      <KeyField
        {...props}
        field="topic"
        at="topic"
        label="Topic"
        description="The topic's name on the new cluster"
      />
      {hasHeader(props.cluster) && (
        <>
          <KeyField
            {...props}
            field="allowed"
            at="allowed_topics"
            label="Topics that a header may select"
            description="Names on the new cluster, separated by commas"
          />
          <KeyField
            {...props}
            field="prefix"
            at="allowed_topic_prefix"
            label="Or topic prefixes"
            description="Empty: none"
          />
        </>
      )}
    </>
  )
}

const WAYS: { value: By; label: string; description: string }[] = [
  {
    value: 'mapping',
    label: 'Offset syncs of a mirror',
    description: 'MirrorMaker 2 records which offset corresponds to which. Nothing is reread.',
  },
  {
    value: 'timestamp',
    label: 'Timestamp of the last record',
    description:
      'The first record on the new cluster that is not older. Records with the same timestamp are reread. The plan counts them.',
  },
  {
    value: 'given',
    label: 'Given offsets, per partition',
    description:
      'You enter each offset. The plan counts skipped and reread records where it finds the last record on the new cluster.',
  },
]

function Positions(props: ClusterPartProps & { name: string }) {
  const { cluster, findings, onChange } = props
  return (
    <Panel
      title="Start positions"
      note="verified by comparing records on both clusters, again at the exact stop position"
    >
      <div className={classes.form}>
        <Radio.Group
          label="Position method"
          value={cluster.by}
          error={cluster.by === 'timestamp' ? wordsAt(findings, ['spec.positions']) : null}
          onChange={(by) => onChange({ by: by as By })}
        >
          <div className={classes.kinds}>
            {WAYS.map((way) => (
              <Radio key={way.value} size="xs" {...way} />
            ))}
          </div>
        </Radio.Group>
        {cluster.by === 'mapping' && <Mapping {...props} />}
        {cluster.by === 'given' && <GivenOffsets {...props} />}
      </div>
    </Panel>
  )
}

function Mapping({ cluster, findings, onChange }: ClusterPartProps) {
  return (
    <div className={classes.fields}>
      <TextInput
        label="Offset syncs topic"
        placeholder="mm2-offset-syncs.NAME.internal"
        value={cluster.syncs}
        error={wordsAt(findings, ['spec.positions'])}
        onChange={(event) => onChange({ syncs: event.currentTarget.value })}
        autoComplete="off"
        spellCheck={false}
      />
      <Select
        label="Stored on"
        data={[
          { value: 'old', label: 'the old cluster (default)' },
          { value: 'new', label: 'the new cluster' },
        ]}
        value={cluster.on}
        onChange={(on) => onChange({ on: on === 'new' ? 'new' : 'old' })}
        allowDeselect={false}
      />
    </div>
  )
}
