import { useQuery } from '@tanstack/react-query'
import { Link, useLocation } from '@tanstack/react-router'
import { IconApi, IconBook2 } from '@tabler/icons-react'
import { alertCountsQuery } from '@/api/alerts'
import { useStaleSince } from '@/components/ui/StaleFigures'
import { useClockTime } from '@/components/ui/Time'
import icon from '@/assets/icon.svg'
import { usePollInterval } from '@/lib/live/LiveProvider'
import { usePlaces } from '@/lib/places'
import classes from './shell.module.css'

/** Beside a working stream, which brings each change; requests that fail alone have to be noticed, too. */
const COUNTS_MS = 20_000
const MOST_SHOWN = 999

const DOCUMENTS = [
  { href: '/docs/', label: 'Docs', title: 'Documentation', icon: IconBook2 },
  { href: '/api/docs', label: 'API docs', title: 'API documentation', icon: IconApi },
]

export function Sidebar() {
  const { pathname } = useLocation()
  const places = usePlaces()
  return (
    <nav className={classes.sidebar} aria-label="Main">
      <Link to="/" className={classes.brand} aria-label="Headgate, pipelines">
        <img src={icon} width={24} height={24} alt="" />
        <span>Headgate</span>
      </Link>
      <ul className={classes.places}>
        {places.map(({ to, label, icon: Shape, under }) => (
          <li key={to} className={classes.entry}>
            <Link
              to={to}
              className={classes.place}
              data-active={pathname === to || under.some((start) => pathname.startsWith(start)) || undefined}
              aria-label={label}
              title={label}
            >
              <Shape size={17} stroke={1.7} aria-hidden />
              <span>{label}</span>
            </Link>
            {to === '/alerts' && <OpenAlerts />}
          </li>
        ))}
      </ul>
      {DOCUMENTS.map(({ href, label, title, icon: Shape }) => (
        <a key={href} className={classes.place} href={href} target="_blank" rel="noreferrer" title={title}>
          <Shape size={17} stroke={1.7} aria-hidden />
          <span>{label}</span>
          <span className="visually-hidden">(opens in a new tab)</span>
        </a>
      ))}
    </nav>
  )
}

/** How many alerts are open; nothing where none is, and a mark where that is not known. */
function OpenAlerts() {
  const every = usePollInterval(COUNTS_MS)
  const counts = useQuery({ ...alertCountsQuery, refetchInterval: every })
  const since = useStaleSince(counts, every)
  const clock = useClockTime()
  const { data, error } = counts
  if (data?.open === 0) return null
  const open = data && (data.open > MOST_SHOWN ? `${MOST_SHOWN}+` : data.open)
  const words = data ? 'open alerts' : `The number of open alerts is ${error ? 'unknown' : 'loading'}.`
  return (
    <span
      className={classes.count}
      data-tone={data?.severities.critical ? 'bad' : 'warn'}
      data-stale={since !== null || !data || undefined}
    >
      {open ?? <span aria-hidden>{error ? '?' : '…'}</span>}
      <span className="visually-hidden">
        {' '}
        {words}
        {since !== null && ` as of ${clock(since)}`}
      </span>
    </span>
  )
}
