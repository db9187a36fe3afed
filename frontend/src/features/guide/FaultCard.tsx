import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { IconAlertTriangle, IconCheck, IconHourglass } from '@tabler/icons-react'
import { useEffect, useRef } from 'react'
import { breakDemo } from '@/api/guide'
import { keys } from '@/api/keys'
import type { DemoFault, Guide, GuideCard } from '@/api/types'
import { useReadOnly } from '@/components/teams/useReadOnly'
import { announce } from '@/components/ui/Announcer'
import { ErrorNote } from '@/components/ui/Feedback'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { ToneBadge } from '@/components/ui/ToneBadge'
import { Progress } from './Progress'
import { STATES } from './words'
import classes from './guide.module.css'

interface FaultCardProps {
  pipeline: string
  card: GuideCard
  open: Guide['open']
}

/** What a card breaks, the button that does it, and what was observed of its last use. */
export function FaultCard({ pipeline, card, open }: FaultCardProps) {
  const client = useQueryClient()
  const readOnly = useReadOnly(pipeline)
  const breaking = useMutation({
    mutationFn: () => breakDemo(pipeline, card.card),
    onSettled: () => client.invalidateQueries({ queryKey: keys.guide(pipeline) }),
  })
  const reason = readOnly ?? (open ? 'A card is under way. Wait until it has ended.' : null)
  useAnnounced(card)
  return (
    <li className={classes.card} data-card={card.card} data-state={card.last?.state}>
      <div className={classes.head}>
        <h2 className={classes.title}>{card.title}</h2>
        {card.last && <StateBadge state={card.last.state} />}
      </div>
      <p>{card.breaks}</p>
      <p className="dim">{card.expect}</p>
      <ReasonButton
        className={classes.button}
        color="red"
        variant="light"
        reason={reason}
        loading={breaking.isPending}
        aria-label={`${card.last ? 'Break it again' : 'Break it'}: ${card.title}`}
        onClick={() => breaking.mutate()}
      >
        {card.last ? 'Break it again' : 'Break it'}
      </ReasonButton>
      {breaking.error && <ErrorNote error={breaking.error} />}
      {card.last && <Progress fault={card.last} />}
      {card.last?.link && (
        <Link to={card.last.link} aria-label={`Where Headgate shows it: ${card.title}`}>
          Where Headgate shows it
        </Link>
      )}
    </li>
  )
}

function StateBadge({ state }: Pick<DemoFault, 'state'>) {
  const word = STATES[state]
  if (state === 'DONE') {
    return (
      <ToneBadge tone="ok" icon={IconCheck}>
        {word}
      </ToneBadge>
    )
  }
  return (
    <ToneBadge
      tone={state === 'FAILED' ? 'bad' : 'busy'}
      icon={state === 'FAILED' ? IconAlertTriangle : IconHourglass}
    >
      {word}
    </ToneBadge>
  )
}

/** Says to screen readers where a card stands, whenever that changes. */
function useAnnounced({ title, last }: GuideCard): void {
  const said = useRef(last?.state)
  const state = last?.state
  useEffect(() => {
    if (state && state !== said.current) announce(`${title}: ${STATES[state]}`)
    said.current = state
  }, [title, state])
}
