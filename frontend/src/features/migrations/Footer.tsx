import { Button } from '@mantine/core'
import { Link, useNavigate } from '@tanstack/react-router'
import { IconArrowLeft, IconArrowRight } from '@tabler/icons-react'
import type { MigrationDetail } from '@/api/types'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { neighbours, STEPS, whyNotNext, type WizardStep } from './steps'
import classes from './migrations.module.css'

/** The page before and the page after; a Next that cannot be gone to says why, in sight. */
export function Footer({ migration, step }: { migration: MigrationDetail; step: WizardStep }) {
  const navigate = useNavigate()
  const { before, after } = neighbours(migration, step)
  const reason = whyNotNext(migration, step)
  return (
    <div className={classes.footer}>
      {before && (
        <Button
          variant="default"
          leftSection={<IconArrowLeft size={14} aria-hidden />}
          renderRoot={(props) => (
            <Link to="/migrations/$id/$step" params={{ id: migration.id, step: before }} {...props} />
          )}
        >
          {STEPS[before].label}
        </Button>
      )}
      {after && reason && <span className={classes.why}>{reason}</span>}
      {after && (
        <ReasonButton
          variant={reason ? 'default' : 'light'}
          rightSection={<IconArrowRight size={14} aria-hidden />}
          reason={reason}
          onClick={() =>
            void navigate({ to: '/migrations/$id/$step', params: { id: migration.id, step: after } })
          }
        >
          Next: {STEPS[after].label}
        </ReasonButton>
      )}
    </div>
  )
}
