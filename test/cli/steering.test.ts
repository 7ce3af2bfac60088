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

await t.test('JSON of stored texts contains no control character in a pipe either', async (t) => {
  const flag = { key: 'f', name: EVIL, metadata: { [EVIL]: EVIL }, type: 'BOOLEAN_FLAG_TYPE', enabled: true }
  const service = await standIn(({ path }) => ({
    body: path.endsWith('/flags') ? { flags: [flag], nextPageToken: '', totalCount: 1 } : flag,
  }))
  t.teardown(service.close)
  for (const verb of [
    ['flag', 'get', 'f', '-o', 'json'],
    ['flag', 'list', '-o', 'json'],
    ['flag', 'list', '-o', 'ndjson'],
    ['flag', 'get', 'f', '--field', 'metadata'],
  ]) {
    const { exit, out } = await written(service.address, false, ...verb)
    t.equal(exit, 0, verb.join(' '))
    t.notMatch(out.replaceAll('\n', ''), STEERING, verb.join(' '))
    const parsed: unknown = JSON.parse(out)
    t.match(JSON.stringify(parsed), JSON.stringify(EVIL).slice(1, -1), verb.join(' '))
  }
  const event = { index: 0, position: '1', summary: EVIL, reason: EVIL }
  const events = await standIn(() => ({ body: { events: [event], head: { index: 0 }, nextPageToken: '' } }))
  t.teardown(events.close)
  const { out } = await written(events.address, false, 'events', 'tail', '--format', 'ndjson')
  t.notMatch(out.replaceAll('\n', ''), STEERING)
  t.strictSame(JSON.parse(out.split('\n')[0]!), event)
})

await t.test('an exported document contains no control character', async (t) => {
  const service = await standIn(({ path }) => {
    const flag = { key: EVIL, name: EVIL, namespaceKey: 'x', type: 'BOOLEAN_FLAG_TYPE', description: EVIL }
    const more = { enabled: true, metadata: { [EVIL]: EVIL }, variants: [], defaultVariant: null }
    const lists = { flags: [{ ...flag, ...more }], segments: [], rules: [], rollouts: [], nextPageToken: '' }
    return { body: /\/namespaces\/[^/]+$/.test(path) ? { key: 'x', name: EVIL, description: EVIL } : lists }
  })
  t.teardown(service.close)
  for (const format of ['yaml', 'json']) {
    const { exit, out, err } = await written(service.address, false, 'export', '-n', 'x', '--format', format)
    t.equal(exit, 0, err)
    t.notMatch(out.replaceAll('\n', ''), STEERING, format)
    t.match(out, '\\u202e', format)
  }
})

await t.test('the progress bar escapes the names of the server', async (t) => {
  const name = `n${EVIL}`
  const service = await standIn(({ path }) => ({
    body: path.endsWith('/namespaces')
      ? { namespaces: [{ key: name, name }], nextPageToken: '' }
      : { flags: [{ key: 'f', namespaceKey: name }], segments: [], rules: [], rollouts: [], nextPageToken: '' },
  }))
  t.teardown(service.close)
  const { exit, err } = await written(service.address, true, 'export', '--all-namespaces')
  t.notMatch(err, 'a\u001b[31m\u009b1mb\u202e')
  t.match(err, String.raw`a\u001b`)
  t.equal(exit, 1)
  t.match(err, 'The answer or file has another form than expected')
})
