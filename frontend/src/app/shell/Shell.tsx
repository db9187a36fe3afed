import { Outlet } from '@tanstack/react-router'
import { Announcer } from '@/components/ui/Announcer'
import { DatabaseBanner } from '@/components/ui/DatabaseBanner'
import { ReadBanner } from './ReadBanner'
import { ReadOnlyBanner } from './ReadOnlyBanner'
import { ServerBanner } from './ServerBanner'
import { Sidebar } from './Sidebar'
import { TopBar } from './TopBar'
import { useAlertNotifications } from './useAlertNotifications'
import { useFirstLogin } from './useFirstLogin'
import classes from './shell.module.css'

/** What stands around every page. */
export function Shell() {
  useFirstLogin()
  useAlertNotifications()
  return (
    <div className={classes.shell}>
      <a href="#content" className={classes.skip}>
        Skip to content
      </a>
      <Sidebar />
      <div className={classes.column}>
        <TopBar />
        <DatabaseBanner />
        <ServerBanner />
        <ReadBanner />
        <ReadOnlyBanner />
        <main id="content" className={classes.main} tabIndex={-1}>
          <Outlet />
        </main>
      </div>
      <Announcer />
    </div>
  )
}
