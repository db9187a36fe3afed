/** What the server shows in place of a secret that stands in the definition itself. */
export const HIDDEN = '[hidden]'

/** Whether the mask of a secret stands as a value in data, or in a text that has data. */
export function hidesValue(value: unknown): boolean {
  if (typeof value === 'string')
    return [`"${HIDDEN}"`, `'${HIDDEN}'`].some((mask) => value.includes(mask)) || value === HIDDEN
  return typeof value === 'object' && value !== null && Object.values(value).some(hidesValue)
}
