import { IconStar, IconStarFilled } from '@tabler/icons-react'
import classes from './star.module.css'

interface StarProps {
  name: string
  on: boolean
  onToggle: (name: string) => void
}

/** Marks a pipeline as one of the user's favourites. */
export function Star({ name, on, onToggle }: StarProps) {
  const Shape = on ? IconStarFilled : IconStar
  return (
    <button
      type="button"
      className={classes.star}
      aria-label={`Favourite: ${name}`}
      aria-pressed={on}
      onClick={() => onToggle(name)}
    >
      <Shape size={14} aria-hidden />
    </button>
  )
}
