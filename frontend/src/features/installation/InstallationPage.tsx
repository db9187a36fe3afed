import { Link, Outlet } from '@tanstack/react-router'
import { PageHeader } from '@/components/ui/PageHeader'
import tabs from '@/components/ui/tabs.module.css'
import { INSTALLATION_TABS } from '@/lib/places'
import { useSession } from '@/lib/session'
import classes from './installation.module.css'

/** How the installation is, and how it is set up: each part has an address of its own. */
export function InstallationPage() {
  const { session } = useSession()
  return (
    <div className={classes.page}>
      <PageHeader title="Installation" />
      <nav className={tabs.tabs} aria-label="Parts of the installation">
        {INSTALLATION_TABS.filter(({ hidden }) => hidden(session) === null).map(({ to, label, exact }) => (
          <Link
            key={to}
            to={to}
            activeOptions={{ exact, includeSearch: false }}
            activeProps={{ 'data-active': true }}
          >
            {label}
          </Link>
        ))}
      </nav>
      <Outlet />
    </div>
  )
}
