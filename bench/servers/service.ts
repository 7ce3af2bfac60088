import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs, promisify } from 'node:util'
import { createTokenOffline } from '../../src/app/offline/offline.ts'
import { start } from '../../src/app/start.ts'
import { openStores, type Stores } from '../../src/app/stores/stores.ts'
import { systemClock } from '../../src/base/clock.ts'
import { loadConfig } from '../../src/config/load.ts'
import type { Stored } from '../../src/events/log.ts'
import { seedFlags } from '../seed.ts'
import { answerMeasures } from './measures.ts'
import { settingsOf } from './settings.ts'

/**
 * The whole service in a process of its own, on an embedded store with this many flags and tokens. `--open`: no credentials needed.
 * `--idle`: on a store that takes writes without doing anything. `--set=key=value`: a setting, such as those of servers in place of
 * the embedded store. Says its address and its tokens in one line of JSON, and
 * answers measures. Flags and tokens are made beforehand by a process of its own,
 * with `--prepare`: what that leaves behind in a process is not to be measured. `--token`: one that is there already.
 */
const { values } = parseArgs({
  options: {
    flags: { type: 'string', default: '0' },
    tokens: { type: 'string', default: '1' },
    open: { type: 'boolean', default: false },
    idle: { type: 'boolean', default: false },
    prepare: { type: 'boolean', default: false },
    token: { type: 'string' },
    set: { type: 'string', multiple: true, default: [] },
  },
})
const directory = await mkdtemp(join(tmpdir(), 'rollcall-bench-'))
const bootstrap = `bench-${randomBytes(24).toString('base64url')}`
const { config } = loadConfig({
  env: {},
  flags: {
    'server.host': '127.0.0.1',
    'server.http_port': '0',
    'storage.data_dir': join(directory, 'data'),
    'log.file': join(directory, 'log'),
    'authentication.required': String(!values.open),
    'authentication.methods.token.bootstrap.token': bootstrap,
    ...settingsOf(values.set),
  },
})

/** Streams that the idle store remembers: those of the first start, whose token every request shows. */
const REMEMBERED = 8

const idle = (stores: Stores): Stores => {
  let position = 0n
  const streams = new Map<string, readonly Stored[]>()
  return {
    ...stores,
    log: {
      ...stores.log,
      append: async (stream, events, expected) => {
        const before = expected === 'none' ? -1n : expected
        const revision = before + BigInt(events.length)
        const positions = events.map(() => ++position)
        if (streams.size < REMEMBERED) {
          streams.set(
            stream,
            events.map((event, n) => ({ ...event, stream, revision: BigInt(n), position: positions[n]! })),
          )
        }
        return { revision, positions }
      },
      read: async function* remembered(stream) {
        const events = streams.get(stream)
        if (events) yield events
      },
    },
    views: { ...stores.views, get: async () => undefined, put: async () => undefined },
  }
}

const say = (url: string, tokens: readonly string[]) => process.stdout.write(`${JSON.stringify({ url, tokens })}\n`)

if (values.prepare) {
  if (values.flags !== '0') await seedFlags(config, Number(values.flags))
  // Servers may have had a bootstrap token long before, and a log has but one.
  const offline = () => createTokenOffline(config, { name: 'bench' }, () => {})
  const tokens = [config.storage.type === 'embedded' ? bootstrap : (await offline()).clientToken]
  const { url, close } = await start(config)
  while (tokens.length < Number(values.tokens)) {
    const headers = { authorization: `Bearer ${tokens[0]}` }
    const answer = await fetch(`${url}/auth/v1/method/token`, { method: 'POST', headers, body: '{"name":"bench"}' })
    tokens.push(((await answer.json()) as { readonly clientToken: string }).clientToken)
  }
  await close()
  say('', tokens)
  process.exit(0)
}

/** Makes flags and tokens in the store; gives the tokens. */
const prepared = async (): Promise<readonly string[]> => {
  const asked = [
    `--flags=${values.flags}`,
    `--tokens=${values.tokens}`,
    `--set=storage.data_dir=${config.storage.data_dir}`,
  ]
  const args = [fileURLToPath(import.meta.url), '--prepare', ...asked, ...values.set.map((text) => `--set=${text}`)]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  return (JSON.parse(stdout) as { readonly tokens: readonly string[] }).tokens
}
const empty = values.flags === '0' && values.tokens === '1'
const tokens = values.token !== undefined ? [values.token] : empty ? [bootstrap] : await prepared()
const running = await start(
  config,
  values.idle
    ? { stores: idle(await openStores(config, systemClock, { onError: (_, error) => console.error(error) })) }
    : {},
)
say(running.url, tokens)
answerMeasures()
process.on('SIGTERM', () => {
  void running
    .close()
    .then(() => rm(directory, { recursive: true, force: true }))
    .then(() => process.exit(0))
})
