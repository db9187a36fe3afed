import { ActionIcon, CopyButton, Tooltip } from '@mantine/core'
import { IconCheck, IconCopy } from '@tabler/icons-react'
import classes from './code.module.css'

interface CodeBlockProps {
  code: string
  label: string
  maxHeight?: number
  /** Long lines are wrapped where they would have to be scrolled. */
  wrapped?: boolean
}

/** Text to be copied, with the button that does it. */
export function CodeBlock({ code, label, maxHeight, wrapped }: CodeBlockProps) {
  return (
    <div className={classes.block}>
      <pre
        className={classes.pre}
        data-wrapped={wrapped || undefined}
        tabIndex={0}
        role="group"
        aria-label={label}
        style={{ maxHeight }}
      >
        {code}
      </pre>
      <Copy text={code} label={label} className={classes.copy} />
    </div>
  )
}

export function Copy({ text, label, className }: { text: string; label: string; className?: string }) {
  return (
    <CopyButton value={text}>
      {({ copied, copy }) => (
        <Tooltip label={copied ? 'Copied' : 'Copy'}>
          <ActionIcon
            className={className}
            variant="default"
            size={26}
            onClick={copy}
            aria-label={copied ? `${label}: copied` : `Copy: ${label}`}
          >
            {copied ? <IconCheck size={14} aria-hidden /> : <IconCopy size={14} aria-hidden />}
          </ActionIcon>
        </Tooltip>
      )}
    </CopyButton>
  )
}
