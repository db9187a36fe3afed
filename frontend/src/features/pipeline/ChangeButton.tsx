import { IconPencil } from '@tabler/icons-react'
import { useNavigate } from '@tanstack/react-router'
import type { PipelineDetail } from '@/api/types'
import { refusal } from '@/components/actions/allowed'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { useReadOnly } from '@/components/teams/useReadOnly'

/** Leads to where a definition is changed: by a migration while the pipeline runs, else by a revision. */
export function ChangeButton({ pipeline }: { pipeline: PipelineDetail }) {
  const navigate = useNavigate()
  const { name } = pipeline
  const readOnly = useReadOnly(name)
  const change = () =>
    refusal(pipeline, 'edit') === null
      ? navigate({ to: '/pipelines/$name/edit', params: { name } })
      : navigate({ to: '/migrations/new', search: { pipeline: name, kind: 'revision' } })
  return (
    <ReasonButton
      variant="default"
      leftSection={<IconPencil size={14} aria-hidden />}
      reason={readOnly}
      onClick={() => void change()}
    >
      Change
    </ReasonButton>
  )
}
