import { Button, Tooltip, type ButtonProps } from '@mantine/core'
import { useId, type ComponentPropsWithoutRef } from 'react'

type Props = ButtonProps &
  Omit<ComponentPropsWithoutRef<'button'>, keyof ButtonProps> & { reason?: string | null }

/** A button that, when it may not be used, stays reachable and says why: on hover, on focus and to screen readers. */
export function ReasonButton({ reason, onClick, children, ...props }: Props) {
  const id = useId()
  if (!reason) {
    return (
      <Button {...props} onClick={onClick}>
        {children}
      </Button>
    )
  }
  return (
    <>
      <Tooltip label={reason}>
        <Button
          {...props}
          type="button"
          data-disabled
          aria-disabled
          aria-describedby={id}
          onClick={(event) => event.preventDefault()}
        >
          {children}
        </Button>
      </Tooltip>
      <span id={id} className="visually-hidden">
        {reason}
      </span>
    </>
  )
}
