import { useEffect, useRef, type ReactNode } from 'react'
import classes from './page.module.css'

interface PageHeaderProps {
  title: string
  /** What the browser's tab says; the title unless given. */
  documentTitle?: string
  before?: ReactNode
  beside?: ReactNode
  actions?: ReactNode
  children?: ReactNode
}

/** Whether a page has been shown before: the first one leaves the focus at the top, where the skip link is. */
let entered = false

/** The one h1 of a page. It takes the focus when a link led to the page, so that a screen reader hears where it is. */
export function PageHeader({
  title,
  documentTitle = title,
  before,
  beside,
  actions,
  children,
}: PageHeaderProps) {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    document.title = `${documentTitle} · Headgate`
  }, [documentTitle])
  useEffect(() => {
    const atLink = document.activeElement === document.body || document.activeElement?.closest('a, nav')
    if (entered && atLink) heading.current?.focus({ preventScroll: true })
    entered = true
  }, [])
  return (
    <header className={classes.header}>
      {before}
      <div className={classes.row}>
        <h1 ref={heading} tabIndex={-1} className={classes.title}>
          {title}
        </h1>
        {beside}
        {actions && <div className={classes.actions}>{actions}</div>}
      </div>
      {children}
    </header>
  )
}
