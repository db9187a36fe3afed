import { Link, type ErrorComponentProps } from '@tanstack/react-router'
import { ErrorNote } from '@/components/ui/Feedback'
import { PageHeader } from '@/components/ui/PageHeader'

export function NotFound() {
  return (
    <>
      <PageHeader title="There is no such page" />
      <p>
        Nothing lives at this address. <Link to="/">See all pipelines</Link>.
      </p>
    </>
  )
}

export function RouteError({ error, reset }: ErrorComponentProps) {
  return (
    <>
      <PageHeader title="This page could not be shown" />
      <ErrorNote error={error} onRetry={reset} />
    </>
  )
}
