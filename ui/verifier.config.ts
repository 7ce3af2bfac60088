import { join } from 'node:path'
import { defineConfig } from 'vite'

/** Builds the verifier as one file for Node.js, with its comments. */
export default defineConfig({
  root: join(import.meta.dirname, '..'),
  publicDir: false,
  build: {
    outDir: 'dist',
    emptyOutDir: false,
    ssr: 'src/verifier/main.ts',
    target: 'node20.19',
    minify: false,
    rolldownOptions: {
      optimization: { inlineConst: false },
      output: {
        entryFileNames: 'rollcall-verify.mjs',
        banner: '#!/usr/bin/env node\n// Verifier of Rollcall, made of src/verifier. Licence: Apache-2.0.',
      },
    },
  },
})
