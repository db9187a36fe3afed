import { ConnectionBadge } from './ConnectionBadge'
import { UserMenu } from './UserMenu'
import classes from './shell.module.css'

export function TopBar() {
  return (
    <section className={classes.topbar} aria-label="Connection and account">
      <ConnectionBadge />
      <UserMenu />
    </section>
  )
}
