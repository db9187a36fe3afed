import { Link } from '@tanstack/react-router'
import classes from '@/components/ui/tabs.module.css'
import { PIPELINE_TABS } from '@/lib/places'

/** The parts of a pipeline's page, each with an address of its own; links, so that they behave as such. */
export function TabBar({ name }: { name: string }) {
  return (
    <nav className={classes.tabs} aria-label={`Parts of ${name}`}>
      {PIPELINE_TABS.map(({ to, label, exact }) => (
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
