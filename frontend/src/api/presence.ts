const AWAY_MS = 60_000
const SIGNS = ['pointerdown', 'pointermove', 'keydown', 'wheel', 'touchstart'] as const

let lastSign = Date.now()
for (const sign of SIGNS) {
  window.addEventListener(sign, () => (lastSign = Date.now()), { capture: true, passive: true })
}

/** Whether the user types and points. What the page asks by itself meanwhile must not keep a session that is left alone. */
export const isPresent = () => Date.now() - lastSign < AWAY_MS
