import { readdirSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import t from 'tap'
import { root } from '../root.ts'

const theme = resolve(root, 'ui/src/theme')
const tokens = readFileSync(resolve(theme, 'tokens.css'), 'utf8')

/** The two colours of a token: light, dark. */
const pairs = new Map(
  [...tokens.matchAll(/--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)/g)].map(
    ([, name, light, dark]) => [name!, [light!, dark!]] as const,
  ),
)

const linear = (part: number): number => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
const luminance = (colour: string): number => {
  const [red, green, blue] = [1, 3, 5].map((at) => linear(parseInt(colour.slice(at, at + 2), 16) / 255))
  return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!
}
/** The contrast of two colours as WCAG 2.2 defines it. */
const contrast = (one: string, other: string): number => {
  const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b)
  return (light! + 0.05) / (dark! + 0.05)
}

/** Text colour, background, minimum contrast. */
const needed: readonly (readonly [string, string, number])[] = [
  ['text', 'canvas', 4.5],
  ['text', 'surface', 4.5],
  ['text', 'inset', 4.5],
  ['text', 'hover', 4.5],
  ['text', 'accent-bg', 4.5],
  ['text', 'danger-bg', 4.5],
  ['text', 'warn-bg', 4.5],
  ['muted', 'canvas', 4.5],
  ['muted', 'surface', 4.5],
  ['muted', 'inset', 4.5],
  ['muted', 'hover', 4.5],
  ['on-accent', 'accent', 4.5],
  ['on-accent', 'accent-hover', 4.5],
  ['accent-text', 'canvas', 4.5],
  ['accent-text', 'accent-bg', 4.5],
  ['ok', 'ok-bg', 4.5],
  ['ok', 'canvas', 4.5],
  ['warn', 'warn-bg', 4.5],
  ['danger', 'danger-bg', 4.5],
  ['danger', 'canvas', 4.5],
  ['on-danger', 'danger', 4.5],
  ['past', 'past-bg', 4.5],
  ['add', 'add-bg', 4.5],
  ['del', 'del-bg', 4.5],
  ['canvas', 'text', 4.5],
  ['edge', 'canvas', 3],
  ['edge', 'inset', 3],
  ['focus', 'canvas', 3],
  ['focus', 'accent-bg', 3],
]

await t.test('text colours have enough contrast in the light and the dark theme', (t) => {
  for (const [ink, ground, least] of needed)
    for (const [n, name] of ['light', 'dark'].entries()) {
      const ratio = contrast(pairs.get(ink)![n]!, pairs.get(ground)![n]!)
      t.ok(ratio >= least, `${ink} on ${ground}, ${name}: ${ratio.toFixed(2)}, at least ${least}`)
    }
  t.end()
})

// Because themes differ in colours only, the browser tests check only colours in the dark theme.
await t.test('the light and the dark theme differ in colours only', (t) => {
  const colour = String.raw`(?:#[0-9a-f]{6}|rgb\([\d ]+ \/ [\d.]+\))`
  const others = tokens
    .replaceAll(new RegExp(String.raw`light-dark\(${colour}, ${colour}\)`, 'g'), '')
    .replaceAll(/:root\[data-theme="(light|dark)"\] \{\s*color-scheme: \1;\s*\}/g, '')
  t.notMatch(others, /prefers-color-scheme|light-dark|data-theme/)
  t.end()
})

// A repeating gradient is a hatch, which is allowed as a shape.
await t.test('only the table of the theme names colours', (t) => {
  for (const name of readdirSync(theme).filter((name) => name !== 'tokens.css')) {
    const text = readFileSync(resolve(theme, name), 'utf8')
    t.notMatch(text, /#[0-9a-f]{3,8}\b|\b(?:rgb|hsl|oklch)a?\(|(?<!repeating-linear-)gradient\(/i, name)
    t.notMatch(text, /prefers-color-scheme|light-dark|data-theme/, `${name}: themes differ in their tokens alone`)
    const unknown = [...text.matchAll(/var\(--([\w-]+)/g)].map(([, token]) => token!)
    for (const token of unknown) t.match(tokens, `--${token}:`, `${name} asks for --${token}`)
  }
  t.end()
})
