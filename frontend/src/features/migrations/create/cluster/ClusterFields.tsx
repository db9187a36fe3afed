import { Radio, Select, TextInput } from '@mantine/core'
import { Panel } from '@/components/ui/Panel'
import type { FieldsProps } from '../fields'
import { wordsAt } from '../findings'
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
      <Panel title="What moves" note="the other components stay where they are">
        {components.length === 0 ? (
          <p className={classes.note}>{pipeline.name} has no source and no sink of the type kafka.</p>
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
    <Panel title="Where it lies there" note={`${cluster.path} is on ${present} now`}>
      <div className={classes.form}>
        <KeyField
          {...props}
          field="servers"
          at="bootstrap_servers"
          label="Bootstrap servers"
          description="Brokers of the other cluster to ask first: host:port, several with commas between"
        />
        {isSink(cluster) ? (
          <SinkKeys {...props} />
        ) : (
          <KeyField
            {...props}
            field="group"
            at="group_id"
            label="Group id"
            description="The consumer group there; it must not have a commit ahead of where it goes on"
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
      <KeyField {...props} field="topic" at="topic" label="Topic" description="What it is called there" />
      {hasHeader(props.cluster) && (
        <>
          <KeyField
            {...props}
            field="allowed"
            at="allowed_topics"
            label="Topics that a header may choose"
            description="Names there, with commas between"
          />
          <KeyField
            {...props}
            field="prefix"
            at="allowed_topic_prefix"
            label="Or topics that begin with"
            description="Empty: none but those"
          />
        </>
      )}
    </>
  )
}

const WAYS: { value: By; label: string; description: string }[] = [
  {
    value: 'mapping',
    label: 'By the offset syncs of a mirror',
    description: 'MirrorMaker 2 writes which offset is which there. Nothing comes again.',
  },
  {
    value: 'timestamp',
    label: 'By the time of the last record',
    description:
      'The first record there that is not older. Those of that very time come again; the plan counts them.',
  },
  {
    value: 'given',
    label: 'Given, partition by partition',
    description:
      'Where you say. The plan counts what that skips and repeats, where it finds the last record there.',
  },
]

function Positions(props: ClusterPartProps & { name: string }) {
  const { cluster, findings, onChange } = props
  return (
    <Panel title="Where it goes on" note="proven by the records on both sides, once more at the exact stop">
      <div className={classes.form}>
        <Radio.Group
          label="How positions are found there"
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
        label="Topic of the offset syncs"
        placeholder="mm2-offset-syncs.NAME.internal"
        value={cluster.syncs}
        error={wordsAt(findings, ['spec.positions'])}
        onChange={(event) => onChange({ syncs: event.currentTarget.value })}
        autoComplete="off"
        spellCheck={false}
      />
      <Select
        label="Kept on"
        data={[
          { value: 'old', label: 'the old cluster, as by default' },
          { value: 'new', label: 'the new cluster' },
        ]}
        value={cluster.on}
        onChange={(on) => onChange({ on: on === 'new' ? 'new' : 'old' })}
        allowDeselect={false}
      />
    </div>
  )
}
