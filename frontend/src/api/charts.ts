import { queryOptions } from '@tanstack/react-query'
import { api, take } from './client'
import { keys } from './keys'

/** `since`, `until`: times, or how long ago ("6h"). */
interface Range {
  since: string
  until?: string
}

/** Rate, lag, batch time and restarts of a pipeline over a range of time. */
export const chartsQuery = (name: string, range: Range) =>
  queryOptions({
    queryKey: keys.charts(name, range),
    queryFn: ({ signal }) =>
      take(api.GET('/api/v1/pipelines/{name}/charts', { params: { path: { name }, query: range }, signal })),
  })

/** The lag of every partition over a range of time. */
export const partitionChartsQuery = (name: string, range: Range) =>
  queryOptions({
    queryKey: keys.partitionCharts(name, range),
    queryFn: ({ signal }) => {
      const params = { path: { name }, query: range }
      return take(api.GET('/api/v1/pipelines/{name}/charts/partitions', { params, signal }))
    },
  })
