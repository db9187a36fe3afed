// Fails the build when the first view (the entry and all it imports statically, with styles) is over its budget.
import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'

const BUDGET = 350_000
const dist = new URL('../dist/', import.meta.url)
const manifest = JSON.parse(readFileSync(new URL('.vite/manifest.json', dist), 'utf8'))

const files = new Set()
const visit = (key) => {
  const chunk = manifest[key]
  if (files.has(chunk.file)) return
  files.add(chunk.file)
  for (const style of chunk.css ?? []) files.add(style)
  for (const next of chunk.imports ?? []) visit(next)
}
visit('index.html')

const total = [...files].reduce((sum, file) => sum + gzipSync(readFileSync(new URL(file, dist))).length, 0)
process.stdout.write(`first view: ${(total / 1_000).toFixed(0)} kB gzip of ${BUDGET / 1_000} kB\n`)
if (total > BUDGET) process.exit(1)
