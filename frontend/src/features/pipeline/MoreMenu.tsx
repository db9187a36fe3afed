import { ActionIcon, Menu } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { IconDots, IconFileUpload, IconPencil, IconTrash } from '@tabler/icons-react'
import { useState } from 'react'
import type { PipelineDetail } from '@/api/types'
import { refusal } from '@/components/actions/allowed'
import { DeleteDialog } from '@/components/actions/DeleteDialog'
import { ReasonItem } from '@/components/ui/ReasonItem'
import { useSession } from '@/lib/session'
import { cannotWrite } from '@/domain/roles'
import { EditDialog } from './EditDialog'

/** What is done rarely: publish a revision, describe, delete. */
export function MoreMenu({ pipeline }: { pipeline: PipelineDetail }) {
  const navigate = useNavigate()
  const { session } = useSession()
  const [dialog, setDialog] = useState<'edit' | 'delete' | null>(null)
  const { name } = pipeline
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
            icon={IconFileUpload}
            label="Publish a new revision"
            reason={refusal(pipeline, 'edit')}
            onClick={() => void navigate({ to: '/pipelines/$name/edit', params: { name } })}
          />
          <ReasonItem
            icon={IconPencil}
            label="Edit description and labels"
            reason={cannotWrite(session)}
            onClick={() => setDialog('edit')}
          />
          <Menu.Divider />
          <ReasonItem
            icon={IconTrash}
            label="Delete"
            reason={refusal(pipeline, 'delete')}
            onClick={() => setDialog('delete')}
          />
        </Menu.Dropdown>
      </Menu>
      {dialog === 'edit' && <EditDialog pipeline={pipeline} onClose={() => setDialog(null)} />}
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
