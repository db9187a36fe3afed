import {
  IconCheck,
  IconCircle,
  IconCircleMinus,
  IconCircleX,
  IconProgress,
  type Icon,
} from '@tabler/icons-react'
import { Link } from '@tanstack/react-router'
import type { MigrationDetail } from '@/api/types'
import { pagesOf, pageState, STEPS, type PageState, type WizardStep } from './steps'
import classes from './migrations.module.css'

const LOOKS: Record<PageState, { icon: Icon; word: string }> = {
  done: { icon: IconCheck, word: 'done' },
  current: { icon: IconProgress, word: 'current' },
  failed: { icon: IconCircleX, word: 'failed' },
  skipped: { icon: IconCircleMinus, word: 'skipped' },
  todo: { icon: IconCircle, word: 'pending' },
}

/** The pages of the wizard, each with an address of its own; links, so that they behave as such. */
export function StepNav({ migration, shown }: { migration: MigrationDetail; shown: WizardStep }) {
  return (
    <nav aria-label="Steps of the migration">
      <ol className={classes.steps}>
        {pagesOf(migration).map((page) => {
          const state = pageState(migration, page)
          const { icon: Shape, word } = LOOKS[state]
          return (
            <li key={page} data-state={state}>
              <Link
                to="/migrations/$id/$step"
                params={{ id: migration.id, step: page }}
                aria-current={page === shown ? 'step' : undefined}
                title={STEPS[page].meaning}
                resetScroll={false}
              >
                <Shape size={15} stroke={2} aria-hidden />
                <span>{STEPS[page].label}</span>
                <span className="visually-hidden">({word})</span>
              </Link>
            </li>
          )
        })}
      </ol>
    </nav>
  )
}
