import { Fragment } from 'react'

/** The path of a component, which breaks between its parts and not inside of a word. */
export const ComponentPath = ({ path }: { path: string }) =>
  path.split(/(?<=\.)/).map((part, index, parts) => (
    <Fragment key={parts.slice(0, index + 1).join('')}>
      {index > 0 && <wbr />}
      {part}
    </Fragment>
  ))
