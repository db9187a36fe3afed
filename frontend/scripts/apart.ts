import type { Plugin } from 'vite'

const PRELOADED = /\s*<link rel="modulepreload"( crossorigin)? href="([^"]*\/libraries-[^"]*)">/
const ENTRY = /<script type="module"/

/**
 * Has the browser evaluate the libraries as a script of their own, before the entry that imports them: two tasks of half
 * the length, between which it can answer its user.
 */
export const librariesApart = (): Plugin => ({
  name: 'libraries-apart',
  apply: 'build',
  transformIndexHtml: {
    order: 'post',
    handler: (html) => {
      const [link, crossorigin = '', href] = PRELOADED.exec(html) ?? []
      if (!link) throw new Error('The build has no file of libraries.')
      return html
        .replace(link, '')
        .replace(ENTRY, `<script type="module"${crossorigin} src="${href}"></script>\n    $&`)
    },
  },
})
