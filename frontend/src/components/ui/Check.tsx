import classes from './check.module.css'

interface CheckProps {
  label: string
  checked: boolean
  mixed?: boolean
  /** What a key of the page presses it by. */
  part?: string
  onChange: () => void
}

/** The browser's own check box: a long table has one in every row, so it has to be light. */
export function Check({ label, checked, mixed = false, part, onChange }: CheckProps) {
  return (
    <input
      ref={(input) => {
        if (input) input.indeterminate = mixed
      }}
      type="checkbox"
      className={classes.check}
      aria-label={label}
      data-key={part}
      checked={checked}
      onChange={onChange}
    />
  )
}
