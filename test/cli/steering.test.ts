import t from 'tap'
import { systemClock } from '../../src/base/clock.ts'
import { escapeControl } from '../../src/base/control-characters.ts'
import { run } from '../../src/cli/program.ts'
import { record, refusal, standIn, terminalWith } from './service.ts'

const EVIL = 'a\u001b[31m\u009b1mb\u202ec\u0007\u007f\rd'
const STEERING = /[\p{Cc}\u200e\u200f\u202a-\u202e\u2066-\u2069]/u
const load = (): never => {
  throw new Error('these verbs work through HTTP alone')
}

/** Output of a command, at a terminal or into a pipe. */
const written = async (url: string, atTerminal: boolean, ...args: readonly string[]) => {
  const { terminal, out, err } = terminalWith({ ROLLCALL_ADDRESS: url, ROLLCALL_TOKEN: 'x', TERM: 'dumb' })
  for (const stream of [terminal.streams.stdout, terminal.streams.stderr]) Object.assign(stream, { isTTY: atTerminal })
  const exit = await run(args, { load, clock: systemClock, terminal })
  return { exit, out: out(), err: err() }
}

await t.test('control characters in stored texts are escaped on a terminal, in every output format', async (t) => {
  const flag = {
    key: 'f',
    name: EVIL,
    type: 'BOOLEAN_FLAG_TYPE',
    enabled: true,
    description: EVIL,
    variants: [],
    metadata: { [EVIL]: EVIL },
    createdAt: '2026-01-02T03:04:05Z',
    updatedAt: '2026-01-02T03:04:05Z',
  }
  const service = await standIn(({ path }) => {
    if (path.endsWith('/tokens'))
      return { body: { authentications: [record('id', EVIL)], nextPageToken: '', totalCount: 1 } }
    if (path.endsWith('/none')) return refusal(404, 5, 'not_found', `flag "${EVIL}" not found`)
    return { body: path.endsWith('/flags') ? { flags: [flag], nextPageToken: '', totalCount: 1 } : flag }
  })
  t.teardown(service.close)
  const verbs: readonly (readonly string[])[] = [
    ...['table', 'json', 'name'].map((form) => ['flag', 'get', 'f', '-o', form]),
    ...['table', 'json', 'ndjson', 'name'].map((form) => ['flag', 'list', '-o', form]),
    ['flag', 'get', 'f', '--field', 'name'],
    ['flag', 'list', '--field', 'name'],
    ...['table', 'json', 'ndjson'].map((form) => ['token', 'list', '-o', form]),
    ['flag', 'get', 'none'],
  ]
  for (const verb of verbs) {
    const { out, err } = await written(service.address, true, ...verb)
    t.notMatch((out + err).replaceAll(/[\n\t]/g, ''), STEERING, verb.join(' '))
  }
  const shown = await written(service.address, true, 'flag', 'get', 'f', '-o', 'json')
  t.strictSame(JSON.parse(shown.out), flag, 'JSON says the same')
  const piped = await written(service.address, false, 'flag', 'get', 'f', '--field', 'name')
  t.equal(piped.out, EVIL, 'a pipe gets every byte')
  t.equal(escapeControl('a\u0007'), String.raw`a\u0007`)
})
