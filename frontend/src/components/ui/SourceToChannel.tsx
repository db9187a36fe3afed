import classes from './source.module.css'

/** What reads on its own, on one line: a source and the channel that it feeds. */
export function SourceToChannel({ source, channel }: { source: string; channel: string }) {
  return (
    <span className={classes.way}>
      {source} <span aria-hidden>→</span>
      <span className="visually-hidden">to</span> {channel}
    </span>
  )
}
