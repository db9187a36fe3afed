import { Button } from '@mantine/core'
import classes from './more.module.css'

interface LoadMoreProps {
  query: { hasNextPage: boolean; isFetchingNextPage: boolean; fetchNextPage: () => unknown }
  label?: string
}

/** The next page of a list, on request. */
export function LoadMore({ query, label = 'Show older' }: LoadMoreProps) {
  if (!query.hasNextPage) return null
  return (
    <div className={classes.more}>
      <Button variant="default" loading={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
        {label}
      </Button>
    </div>
  )
}
