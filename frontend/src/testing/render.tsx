import { MantineProvider } from '@mantine/core'
import { Notifications } from '@mantine/notifications'
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { createMemoryHistory, createRootRoute, createRouter, RouterProvider } from '@tanstack/react-router'
import { render } from '@testing-library/react'
import type { ReactNode } from 'react'

export function testClient(): QueryClient {
  return new QueryClient({ defaultOptions: { queries: { retry: false }, mutations: { retry: false } } })
}

/** Draws an element as the application does, without its animations. */
export function show(element: ReactNode, client = testClient()) {
  const view = render(
    <MantineProvider env="test">
      <QueryClientProvider client={client}>
        <Notifications />
        {element}
      </QueryClientProvider>
    </MantineProvider>,
  )
  return { ...view, client }
}

/** The same for what has links or navigates. */
export function showRouted(element: ReactNode, client = testClient()) {
  const routeTree = createRootRoute({ component: () => element })
  const router = createRouter({ routeTree, history: createMemoryHistory() })
  return { ...show(<RouterProvider router={router as never} />, client), router }
}
