import { Link } from '@tanstack/react-router'
import classes from './pipeline.module.css'

const TABS = [
  { to: '/pipelines/$name', label: 'Topology', exact: true },
  { to: '/pipelines/$name/throughput', label: 'Throughput and lag', exact: false },
  { to: '/pipelines/$name/ledger', label: 'Ledger', exact: false },
  { to: '/pipelines/$name/positions', label: 'Positions', exact: false },
  { to: '/pipelines/$name/dead-letters', label: 'Dead letters', exact: false },
  { to: '/pipelines/$name/trace', label: 'Trace', exact: false },
  { to: '/pipelines/$name/runs', label: 'Runs', exact: false },
  { to: '/pipelines/$name/events', label: 'Events', exact: false },
  { to: '/pipelines/$name/log', label: 'Log', exact: false },
  { to: '/pipelines/$name/revisions', label: 'Revisions', exact: false },
  { to: '/pipelines/$name/definition', label: 'Definition', exact: false },
] as const

/** The parts of a pipeline's page, each with an address of its own; links, so that they behave as such. */
export function TabBar({ name }: { name: string }) {
  return (
    <nav className={classes.tabs} aria-label={`Parts of ${name}`}>
      {TABS.map(({ to, label, exact }) => (
        <Link
          key={to}
          to={to}
          params={{ name }}
          activeOptions={{ exact, includeSearch: false }}
          activeProps={{ 'data-active': true }}
          resetScroll={false}
        >
          {label}
        </Link>
      ))}
    </nav>
  )
}
