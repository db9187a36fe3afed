import { Link } from '@tanstack/react-router'
import { IconBook2, IconHistory, IconServer2, IconTopologyStar3 } from '@tabler/icons-react'
import icon from '@/assets/icon.svg'
import classes from './shell.module.css'

const PLACES = [
  { to: '/', label: 'Pipelines', icon: IconTopologyStar3, exact: false },
  { to: '/events', label: 'Events', icon: IconHistory, exact: true },
  { to: '/hosts', label: 'Hosts', icon: IconServer2, exact: true },
] as const

export function Sidebar() {
  return (
    <nav className={classes.sidebar} aria-label="Main">
      <Link to="/" className={classes.brand} aria-label="Headgate, to the pipelines">
        <img src={icon} width={24} height={24} alt="" />
        <span>Headgate</span>
      </Link>
      <ul className={classes.places}>
        {PLACES.map(({ to, label, icon: Shape, exact }) => (
          <li key={to}>
            <Link
              to={to}
              className={classes.place}
              activeOptions={{ exact, includeSearch: false }}
              activeProps={{ 'data-active': true }}
              aria-label={label}
              title={label}
            >
              <Shape size={17} stroke={1.7} aria-hidden />
              <span>{label}</span>
            </Link>
          </li>
        ))}
      </ul>
      <a
        className={classes.place}
        href="/api/docs"
        target="_blank"
        rel="noreferrer"
        title="API documentation"
      >
        <IconBook2 size={17} stroke={1.7} aria-hidden />
        <span>API docs</span>
        <span className="visually-hidden">(opens in a new tab)</span>
      </a>
    </nav>
  )
}
