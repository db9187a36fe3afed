// The colour scheme that the reader chose, before the page is painted.
const palette = __md_get('__palette')
if (palette?.color) {
  const { media } = palette.color
  if (media === '(prefers-color-scheme)') {
    const light = matchMedia('(prefers-color-scheme: light)').matches
    const chosen = document.querySelector(`[data-md-color-media='(prefers-color-scheme: ${light ? 'light' : 'dark'})']`)
    for (const key of ['media', 'scheme', 'primary', 'accent']) palette.color[key] = chosen.dataset[`mdColor${key[0].toUpperCase()}${key.slice(1)}`]
  }
  for (const [key, value] of Object.entries(palette.color)) document.body.setAttribute(`data-md-color-${key}`, value)
}
