import { resolve } from 'node:path'
import { build, type Plugin } from 'vite'

const root = resolve(import.meta.dirname, '../../../ui')

/**
 * Converts the texts of a module to pseudo-language. The first letter stays at its place, so that prefixes still match.
 */
const PSEUDO = `
const accents = { a: 'á', e: 'é', i: 'í', o: 'ó', u: 'ú', n: 'ñ', A: 'Á', E: 'É', I: 'Í', O: 'Ó', U: 'Ú', N: 'Ñ' }
const said = (text) => text.replace(/[aeioun]/gi, (letter) => accents[letter].repeat(2))
export const pseudo = (words) => {
  if (typeof words === 'string') return said(words)
  if (typeof words === 'function') return (...given) => pseudo(words(...given))
  if (words === null || typeof words !== 'object') return words
  for (const name of Object.keys(words)) words[name] = pseudo(words[name])
  return words
}
`
const MODULE = 'virtual:pseudo'

/** Pseudo-language: accented texts, 40 % longer, from right to left. */
const pseudoLanguage: Plugin = {
  name: 'pseudo-language',
  resolveId: (id) => (id === MODULE ? `\0${MODULE}` : undefined),
  load: (id) => (id === `\0${MODULE}` ? PSEUDO : undefined),
  transform(code, id) {
    if (!/\/ui\/src\/words\/\w+\.ts$/.test(id)) return undefined
    const objects = [...code.matchAll(/^(?:export )?const (\w+)(?:: [^=]+)? = \{/gm)].map(
      ([, name]) => `pseudo(${name})`,
    )
    return `import { pseudo } from '${MODULE}'\n${code}\n${objects.join('\n')}\n`
  },
  transformIndexHtml: (html) => html.replace('dir="ltr"', 'dir="rtl"'),
}

/** Builds the UI in pseudo-language into a folder. */
export const buildPseudo = (folder: string) =>
  build({
    root,
    configFile: false,
    base: './',
    logLevel: 'error',
    plugins: [pseudoLanguage],
    oxc: { jsx: { runtime: 'automatic' } },
    build: { outDir: folder, emptyOutDir: true, assetsInlineLimit: 0, minify: false, cssCodeSplit: false },
  })
