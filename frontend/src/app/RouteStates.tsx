import { Link, type ErrorComponentProps } from '@tanstack/react-router'
import { ErrorNote } from '@/components/ui/Feedback'
import { PageHeader } from '@/components/ui/PageHeader'

export function NotFound() {
  return (
    <>
      <PageHeader title="Page not found" />
      <p>
        There is no page at this address. <Link to="/">Show all pipelines</Link>.
      </p>
    </>
  )
}

export function RouteError({ error, reset }: ErrorComponentProps) {
  return (
    <>
      <PageHeader title="This page failed to load" />
      <ErrorNote error={error} onRetry={reset} />
    </>
  )
}
