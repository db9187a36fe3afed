import classes from './check.module.css'

interface CheckProps {
  label: string
  checked: boolean
  mixed?: boolean
  onChange: () => void
}

/** The browser's own check box: a long table has one in every row, so it has to be light. */
export function Check({ label, checked, mixed = false, onChange }: CheckProps) {
  return (
    <input
      ref={(input) => {
        if (input) input.indeterminate = mixed
      }}
      type="checkbox"
      className={classes.check}
      aria-label={label}
      checked={checked}
      onChange={onChange}
    />
  )
}
