import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { defineConfig, type Plugin } from 'vite'

const out = join(import.meta.dirname, '../dist/ui')

/** Writes a `.br` and a `.gz` copy of every file that is served compressed. */
const compressed: Plugin = {
  name: 'compressed',
  apply: 'build',
  writeBundle({ dir = out }) {
    const folder = join(dir, 'assets')
    for (const name of readdirSync(folder).filter((name) => /\.(js|css)$/.test(name))) {
      const bytes = readFileSync(join(folder, name))
      const size = { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length }
      writeFileSync(join(folder, `${name}.br`), brotliCompressSync(bytes, { params: size }))
      writeFileSync(join(folder, `${name}.gz`), gzipSync(bytes, { level: 9 }))
    }
  },
}

/** The development server has no service that writes the base path into the page. */
const basePath: Plugin = {
  name: 'base-path',
  apply: 'serve',
  transformIndexHtml: (html) => html.replace('%BASE%', '/'),
}

const own = /\/ui\/src\/(?:(?:parts|api|words|shell)\/|(?!main|routes)[^/]+$)/
const first = /\/ui\/src\/(?:main|pages\/flags\/flags)\.tsx$/
type Importers = { readonly getModuleInfo: (id: string) => { readonly importers: readonly string[] } | null }

/** Chunk for modules that the list of flags needs. Modules that only other pages share go into another chunk. */
const withTheList =
  (name: string) =>
  (module: string, context: Importers): string | null => {
    const found = new Set([module])
    for (const id of found) for (const importer of context.getModuleInfo(id)?.importers ?? []) found.add(importer)
    return [...found].some((id) => first.test(id)) ? name : null
  }

const service = process.env['ROLLCALL_URL'] ?? 'http://127.0.0.1:8080'
const api = ['/auth', '/api', '/audit', '/evaluate', '/meta', '/ui/icon.svg']

export default defineConfig({
  root: import.meta.dirname,
  // Addresses of assets are relative, so that the page works under every base path.
  base: './',
  publicDir: 'public',
  plugins: [compressed, basePath],
  resolve: {
    // The code of src/verifier takes SHA-256 and base64 of the browser.
    alias: [{ find: /^\.{1,2}\/platform\.ts$/, replacement: join(import.meta.dirname, 'src/integrity/platform.ts') }],
  },
  oxc: { jsx: { runtime: 'automatic' } },
  build: {
    outDir: out,
    emptyOutDir: true,
    assetsDir: 'assets',
    assetsInlineLimit: 0,
    sourcemap: 'hidden',
    modulePreload: { polyfill: false },
    cssCodeSplit: false,
    target: 'es2023',
    // Packages for servers contain "use client", which has no effect here.
    rolldownOptions: {
      onwarn: (warning, tell) => warning.code !== 'MODULE_LEVEL_DIRECTIVE' && tell(warning),
      output: {
        // Shared modules form a few chunks, because one per module would cost more requests than it saves bytes.
        codeSplitting: {
          groups: [
            { name: 'react', test: /\/node_modules\/(?:react|react-dom|scheduler)\// },
            { name: withTheList('packages'), debugName: 'packages', test: /\/node_modules\// },
            { name: withTheList('parts'), debugName: 'parts', test: own },
            { name: 'more-parts', test: own, minShareCount: 2 },
            // Together these pages compress better.
            { name: 'settings', test: /\/ui\/src\/pages\/(?:access|sessions|system|tokens)\// },
            { name: 'targeting', test: /\/ui\/src\/pages\/(?:flag|segment|evaluate)\/(?!search)/ },
            {
              name: 'commands',
              test: /\/ui\/src\/(?:shell|words)\/(?:account-menu|commands|found|palette|shortcuts)\.tsx?$/,
            },
            { name: 'integrity', test: /\/(?:ui\/src\/integrity\/(?!badge|standing|remembered)|src\/verifier\/)/ },
            { name: 'floating', test: /\/(@base-ui|@floating-ui)\//, minShareCount: 2 },
          ],
        },
      },
    },
  },
  // The page is served at every address, its files at one, relative to the base path.
  experimental: {
    renderBuiltUrl: (file, { hostType }) => (hostType === 'html' ? `ui/${file}` : { relative: true }),
  },
  server: { proxy: Object.fromEntries(api.map((path) => [path, service])) },
})
