import { ActionIcon, Menu, Text } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import {
  IconDots,
  IconFileZip,
  IconPencil,
  IconPinned,
  IconPinnedOff,
  IconSkull,
  IconTransfer,
  IconTrash,
} from '@tabler/icons-react'
import { useState } from 'react'
import { diagnosticsUrl } from '@/api/diagnostics'
import type { PipelineDetail } from '@/api/types'
import { refusal } from '@/components/actions/allowed'
import { DeleteDialog } from '@/components/actions/DeleteDialog'
import { ForceStopDialog } from '@/components/actions/ForceStopDialog'
import { ReasonItem } from '@/components/ui/ReasonItem'
import { ANY_HOST, pinnedTo } from '@/domain/placement'
import { useReadOnly } from '@/components/teams/useReadOnly'
import { EditDialog } from './EditDialog'

/** What is done rarely: migrate, pin to a host, describe, diagnose, kill, delete. */
export function MoreMenu({ pipeline }: { pipeline: PipelineDetail }) {
  const navigate = useNavigate()
  const [dialog, setDialog] = useState<'edit' | 'force' | 'delete' | null>(null)
  const { name } = pipeline
  const readOnly = useReadOnly(name)
  return (
    <>
      <Menu position="bottom-end" width={270} withinPortal={false}>
        <Menu.Target>
          <ActionIcon variant="default" size={30} aria-label={`More for ${name}`}>
            <IconDots size={16} aria-hidden />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <ReasonItem
            icon={IconTransfer}
            label="New migration"
            reason={readOnly}
            onClick={() => void navigate({ to: '/migrations/new', search: { pipeline: name } })}
          />
          <PinItem pipeline={pipeline} />
          <ReasonItem
            icon={IconPencil}
            label="Edit description and labels"
            reason={readOnly}
            onClick={() => setDialog('edit')}
          />
          <Menu.Item
            component="a"
            href={diagnosticsUrl(name)}
            download
            leftSection={<IconFileZip size={15} aria-hidden />}
          >
            Download diagnostics
            <Text size="xs" c="dimmed">
              State, events and logs, without secrets
            </Text>
          </Menu.Item>
          <Menu.Divider />
          <ReasonItem
            icon={IconSkull}
            label="Force stop"
            reason={refusal(pipeline, 'force-stop')}
            onClick={() => setDialog('force')}
          />
          <ReasonItem
            icon={IconTrash}
            label="Delete pipeline"
            reason={refusal(pipeline, 'delete')}
            onClick={() => setDialog('delete')}
          />
        </Menu.Dropdown>
      </Menu>
      {dialog === 'edit' && <EditDialog pipeline={pipeline} onClose={() => setDialog(null)} />}
      {dialog === 'force' && <ForceStopDialog pipeline={pipeline} onClose={() => setDialog(null)} />}
      {dialog === 'delete' && (
        <DeleteDialog
          pipeline={pipeline}
          onClose={() => setDialog(null)}
          onDeleted={() => void navigate({ to: '/' })}
        />
      )}
    </>
  )
}

/** Leads to a revision that ties the pipeline to its host, or lets it run on any; the user publishes it. */
function PinItem({ pipeline }: { pipeline: PipelineDetail }) {
  const navigate = useNavigate()
  const { name, host } = pipeline
  const pinned = pinnedTo(pipeline.definition)
  const to = pinned ? ANY_HOST : host
  return (
    <ReasonItem
      icon={pinned ? IconPinnedOff : IconPinned}
      label={pinned ? 'Allow any host' : `Pin it to ${host ?? 'its host'}`}
      reason={
        to === null ? 'The pipeline has no host yet. Its first start chooses one.' : refusal(pipeline, 'edit')
      }
      onClick={() =>
        void navigate({ to: '/pipelines/$name/edit', params: { name }, search: { host: to ?? undefined } })
      }
    />
  )
}
