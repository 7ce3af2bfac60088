import { readdirSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import t from 'tap'

/** Where time comes from (docs/decisions/0033). */
const src = resolve(import.meta.dirname, '../../src')

/** Files that read the machine's clock or set its timers, each with the reason. */
const ownTime: Readonly<Record<string, string>> = {
  'clock.ts': 'it is the clock of the machine',
  'concurrency.ts': 'pacer measures how long this process holds the event loop',
  'auth/oidc.ts': 'the OpenID library reads the clock of the machine by itself, and is told how far ours is from it',
}
/** Files that put a process together: they name the clock of the machine. */
const roots = [
  'main.ts',
  'app/start.ts',
  'app/offline.ts',
  'app/migrate/migrate.ts',
  'app/past-thread.ts',
  'adapters/embedded/writer.ts',
]
const TIME =
  /\b(setTimeout|setInterval|clearTimeout|clearInterval|performance\.now|Date\.now|AbortSignal\.timeout)\b|new Date\(\)/

const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'))
const codeOf = (file: string): string =>
  readFileSync(resolve(src, file), 'utf8').replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '')

await t.test('time comes from a clock that is given', (t) => {
  for (const file of files.filter((each) => !(each in ownTime)))
    t.equal(TIME.exec(codeOf(file))?.[0], undefined, `${file}: take a Clock instead`)
  for (const file of Object.keys(ownTime)) t.match(codeOf(file), TIME, `${file} is no exception any more`)
  t.end()
})

await t.test('only what puts a process together names the clock of the machine', (t) => {
  const naming = files.filter((file) => file !== 'clock.ts' && codeOf(file).includes('systemClock'))
  t.strictSame(naming.toSorted(), roots.toSorted())
  t.end()
})
