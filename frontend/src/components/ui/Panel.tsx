import { useId, type ReactNode } from 'react'
import classes from './panel.module.css'

interface PanelProps {
  title: string
  note?: ReactNode
  actions?: ReactNode
  children: ReactNode
  flush?: boolean
}

/** A titled part of a page. `flush` lets a table reach the borders. */
export function Panel({ title, note, actions, children, flush = false }: PanelProps) {
  const id = useId()
  return (
    <section className={classes.panel} aria-labelledby={id}>
      <div className={classes.head}>
        <h2 id={id} className={classes.title}>
          {title}
        </h2>
        {note && <span className={classes.note}>{note}</span>}
        {actions && <div className={classes.actions}>{actions}</div>}
      </div>
      <div className={flush ? classes.flush : classes.body}>{children}</div>
    </section>
  )
}
