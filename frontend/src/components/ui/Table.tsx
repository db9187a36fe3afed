import type { ReactNode } from 'react'
import classes from './table.module.css'

interface TableProps {
  label: string
  head: ReactNode
  children: ReactNode
  maxHeight?: number
}

/** A dense table in a region of its own that scrolls, by keyboard too, where it is wider than the page. */
export function Table({ label, head, children, maxHeight }: TableProps) {
  return (
    <div className={classes.scroll} role="group" aria-label={label} tabIndex={0} style={{ maxHeight }}>
      <table className={classes.table}>
        <caption className="visually-hidden">{label}</caption>
        <thead>
          <tr>{head}</tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  )
}
