import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { SourceMap, type SourceMapPayload } from 'node:module'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

type Range = { readonly startOffset: number; readonly endOffset: number; readonly count: number }
type Script = { readonly url: string; readonly functions: readonly { readonly ranges: readonly Range[] }[] }

const dist = resolve(import.meta.dirname, '..')
const src = resolve(dist, '../src')

/** Marks the characters that one process reached: a range inside of another says more exactly what became of its part. */
const mark = (reached: Uint8Array, { functions }: Script): void => {
  const own = new Uint8Array(reached.length)
  for (const { ranges } of functions)
    for (const { startOffset, endOffset, count } of ranges) own.fill(count > 0 ? 1 : 0, startOffset, endOffset)
  for (let n = 0; n < own.length; n++) reached[n]! |= own[n]!
}

/** Every source file with code in it, its code as it runs, and which of its characters were reached. */
const files = readdirSync(src, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .sort()
  .map((name) => {
    const path = resolve(dist, 'src', name.replace(/\.ts$/, '.js'))
    const code = readFileSync(path, 'utf8')
    const map = new SourceMap(JSON.parse(readFileSync(`${path}.map`, 'utf8')) as SourceMapPayload)
    return { name, path, code, map, reached: new Uint8Array(code.length) }
  })
const byPath = new Map(files.map((file) => [file.path, file]))

/** Marks what all processes reached that wrote to this directory. */
const read = (directory: string): void => {
  for (const report of readdirSync(directory).filter((name) => name.endsWith('.json'))) {
    const { result } = JSON.parse(readFileSync(join(directory, report), 'utf8')) as { result: readonly Script[] }
    for (const script of result) {
      const file = script.url.startsWith('file:') ? byPath.get(fileURLToPath(script.url)) : undefined
      if (file) mark(file.reached, script)
    }
  }
}

/** The lines of the source that have code, and those of them with code that nothing reached. */
const linesOf = ({ code, map, reached }: (typeof files)[number]) => {
  const all = new Set<number>()
  const missed = new Set<number>()
  let offset = 0
  for (const [line, text] of code.split('\n').entries()) {
    for (const { index } of text.matchAll(/[\w'"`]+/g)) {
      if (text.startsWith('//')) break
      const entry = map.findEntry(line, index)
      if (!('originalLine' in entry)) continue
      all.add(entry.originalLine + 1)
      if (reached[offset + index] === 0) missed.add(entry.originalLine + 1)
    }
    offset += text.length + 1
  }
  return { all, missed }
}

/** 3, 7–9 */
const spans = (lines: readonly number[]): string => {
  const parts: [number, number][] = []
  for (const line of lines.toSorted((a, b) => a - b)) {
    const last = parts.at(-1)
    if (last && line === last[1] + 1) last[1] = line
    else parts.push([line, line])
  }
  return parts.map(([from, to]) => (from === to ? `${from}` : `${from}–${to}`)).join(', ')
}

const row = (name: string, { lines, missed }: { readonly lines: number; readonly missed: number }) => {
  const share = lines === 0 ? 100 : ((lines - missed) / lines) * 100
  return `${name.padEnd(14)}${String(lines).padStart(8)}${String(missed).padStart(13)}${share.toFixed(1).padStart(9)} %`
}

/** One row a room, then the lines that nothing reached, and the files of which nothing was. */
const report = (): string => {
  const rooms = new Map<string, { lines: number; missed: number }>()
  const total = { lines: 0, missed: 0 }
  const missing: string[] = []
  const never: string[] = []
  for (const file of files) {
    const { all, missed } = linesOf(file)
    const room = file.name.includes('/') ? file.name.split('/')[0]! : '.'
    const sum = rooms.get(room) ?? { lines: 0, missed: 0 }
    rooms.set(room, sum)
    for (const each of [sum, total]) {
      each.lines += all.size
      each.missed += missed.size
    }
    if (missed.size > 0 && missed.size === all.size) never.push(`src/${file.name}`)
    else if (missed.size > 0) missing.push(`src/${file.name}: ${spans([...missed])}`)
  }
  const head = `${'room of src'.padEnd(14)}${'lines'.padStart(8)}${'not reached'.padStart(13)}${'reached'.padStart(11)}`
  const rows = [...rooms].map(([room, sum]) => row(room, sum))
  const table = [head, ...rows, row('all', total)]
  const lists = [
    '',
    'lines that these tests did not reach:',
    ...missing,
    '',
    'files of which they reached nothing:',
    ...never,
  ]
  return [...table, ...lists].join('\n')
}

/**
 * `npm run coverage [test files]` runs tests, all without a name given, and prints which lines of src they and what they
 * started reached; its exit code is that of the tests. `node dist/test/coverage.js --from <folder>` prints it of a run that
 * is over: the folder is the one that `ROLLCALL_TEST_COVERAGE` named.
 */
const { values, positionals } = parseArgs({ allowPositionals: true, options: { from: { type: 'string' } } })

const allTests = (): readonly string[] =>
  readdirSync(resolve(dist, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.test.js'))
    .map((file) => `dist/test/${file}`)

const runTests = (): void => {
  const directory = mkdtempSync(join(tmpdir(), 'rollcall-coverage-'))
  try {
    const named = positionals.length > 0 ? positionals : allTests()
    const args = [resolve(dist, 'test/ci/files.js'), ...named]
    const env = { ...process.env, NODE_V8_COVERAGE: directory }
    const { status } = spawnSync(process.execPath, args, { stdio: 'inherit', env, cwd: resolve(dist, '..') })
    read(directory)
    process.exitCode = status ?? 1
  } finally {
    rmSync(directory, { recursive: true })
  }
}
if (values.from === undefined) runTests()
else read(values.from)
console.log(report())
