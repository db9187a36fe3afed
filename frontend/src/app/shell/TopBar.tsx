import { ConnectionBadge } from './ConnectionBadge'
import { UserMenu } from './UserMenu'
import classes from './shell.module.css'

export function TopBar() {
  return (
    <div className={classes.topbar}>
      <ConnectionBadge />
      <UserMenu />
    </div>
  )
}
