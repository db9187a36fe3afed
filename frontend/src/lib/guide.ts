const KEY = 'headgate.guide-shown'

/** Whether this browser has shown the guided demo. One that refuses storage is not led there again and again. */
export function guideWasShown(): boolean {
  try {
    return localStorage.getItem(KEY) !== null
  } catch {
    return true
  }
}

export function rememberGuide(): void {
  try {
    localStorage.setItem(KEY, 'yes')
  } catch {
    // It is shown once more.
  }
}
