import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useEffect } from 'react'
import { guideQuery } from '@/api/guide'
import { Empty, ErrorNote, Loading } from '@/components/ui/Feedback'
import { PageHeader } from '@/components/ui/PageHeader'
import { rememberGuide } from '@/lib/guide'
import { useSession } from '@/lib/session'
import { FaultCard } from './FaultCard'
import classes from './guide.module.css'

/** Five cards that break the demo pipeline for real. */
export function GuidePage() {
  const { session } = useSession()
  const name = session?.demo_pipeline ?? ''
  const { data, error, refetch } = useQuery(guideQuery(name))
  useEffect(() => {
    if (name) rememberGuide()
  }, [name])
  if (session && !name) {
    return <Empty title="There is no guided demo here">Start one on your machine: make demo</Empty>
  }
  return (
    <div className={classes.page}>
      <PageHeader
        title="Guided demo"
        actions={
          <Button component={Link} to="/" variant="default">
            Skip the guided demo
          </Button>
        }
      >
        <p className={classes.intro}>
          Each card breaks the pipeline{' '}
          <Link to="/pipelines/$name" params={{ name }}>
            {name}
          </Link>{' '}
          for real, shows how Headgate notices, explains and recovers, and undoes itself. Use them in any
          order, as often as you like. Then every record is counted.
        </p>
      </PageHeader>
      {error && !data && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Loading />}
      {data && (
        <ol className={classes.cards} aria-label="Cards">
          {data.cards.map((card) => (
            <FaultCard key={card.card} pipeline={name} card={card} open={data.open} />
          ))}
        </ol>
      )}
    </div>
  )
}
