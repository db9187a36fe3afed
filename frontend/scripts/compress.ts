import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import type { Plugin } from 'vite'

const TEXT = /\.(?:css|js|json|svg)$/

/** Puts a gzip and a Brotli file beside each text of the build, which the web server sends to browsers that take them. */
export const compress = (): Plugin => {
  let directory = ''
  return {
    name: 'compress',
    apply: 'build',
    configResolved: ({ build }) => {
      directory = join(build.outDir, build.assetsDir)
    },
    writeBundle: () => {
      for (const name of readdirSync(directory).filter((each) => TEXT.test(each))) {
        const path = join(directory, name)
        if (statSync(path).size < 1_000) continue
        const content = readFileSync(path)
        writeFileSync(`${path}.gz`, gzipSync(content, { level: 9 }))
        writeFileSync(`${path}.br`, brotliCompressSync(content))
      }
    },
  }
}
