/// <reference types="vitest/config" />
import { fileURLToPath } from 'node:url'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'
import { mockApi } from './mock/plugin.ts'
import { librariesApart } from './scripts/apart.ts'
import { compress } from './scripts/compress.ts'

const backend = process.env.HEADGATE_URL ?? 'http://127.0.0.1:8000'

export default defineConfig(({ mode }) => ({
  plugins: [react(), librariesApart(), compress(), ...(mode === 'mock' ? [mockApi()] : [])],
  resolve: { alias: { '@': fileURLToPath(new URL('./src', import.meta.url)) } },
  build: {
    target: 'es2022',
    assetsDir: 'assets',
    assetsInlineLimit: 0,
    manifest: true,
    chunkSizeWarningLimit: 900,
    // What every view needs is one file of libraries and one of ours: a browser takes longer over sixty small ones.
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            { name: 'libraries', test: /node_modules/, tags: ['$initial'], priority: 2 },
            { name: 'initial', tags: ['$initial'] },
          ],
        },
      },
    },
  },
  server: mode === 'mock' ? {} : { proxy: { '/api': { target: backend } } },
  preview: { proxy: { '/api': { target: backend } } },
  test: {
    environment: 'jsdom',
    globals: true,
    setupFiles: ['./src/testing/setup.ts'],
    css: false,
    // For every file: one that is mocked by a single file is the real one wherever another file of its worker came first.
    alias: [
      { find: /^uplot$/, replacement: fileURLToPath(new URL('./src/testing/uplot.ts', import.meta.url)) },
    ],
    restoreMocks: true,
    isolate: false, // what is imported stays for the next file; what a file leaves behind is cleared in setup.ts
    maxWorkers: '100%', // a processor is left alone by default, and a small machine has only two
    testTimeout: 60_000, // the machine may be busy
  },
}))
