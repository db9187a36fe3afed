import { ConnectionBadge } from './ConnectionBadge'
import { Shortcuts } from './Shortcuts'
import { UserMenu } from './UserMenu'
import classes from './shell.module.css'

export function TopBar() {
  return (
    <section className={classes.topbar} aria-label="Connection and account">
      <Shortcuts />
      <ConnectionBadge />
      <UserMenu />
    </section>
  )
}
