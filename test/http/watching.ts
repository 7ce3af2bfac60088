import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { start } from '../../src/app/start.ts'
import { loadConfig } from '../../src/config/load.ts'
import type { Headers, Started } from '../start.ts'

type Settings = Readonly<Record<string, string>>
type Told = { readonly url?: string; readonly figure?: number }
/** Maximum size of a parsed answer. */
const MOST_PARSED = 2_000_000
const TOKEN = 'the-bootstrap-token-of-the-tests'

/**
 * Runs a service in a child process that reports a figure of its event loop to its parent on request. Each report
 * resets `figure`.
 */
export const tellParent = async (figure: (what: string) => number): Promise<void> => {
  const flags = JSON.parse(process.argv[2]!) as Record<string, string>
  const running = await start(loadConfig({ env: {}, flags }).config)
  process.on('message', (what: string) => {
    if (what === 'close') void running.close().then(() => process.disconnect())
    else process.send?.({ figure: figure(what) })
  })
  process.on('disconnect', () => process.exit())
  process.send?.({ url: running.url })
}

/** Sends requests with the bootstrap token. Large answers are not parsed. */
export const requestsTo =
  (url: string): Started['request'] =>
  async (method, path, body, further?: Headers) => {
    const sent =
      body === undefined || method === 'GET' ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }
    const headers = {
      authorization: `Bearer ${TOKEN}`,
      'accept-encoding': 'identity',
      ...(further as Settings | undefined),
    }
    const answer = await fetch(url + path, { method, headers, ...sent })
    const text = await answer.text()
    const json = JSON.parse(text.length < MOST_PARSED && text.startsWith('{') ? text : '{}') as never
    return { status: answer.status, headers: {}, text, json }
  }

/**
 * Starts a service in its own process with a script and options of Node; returns functions for requests and for its
 * figure.
 */
export const watchedService = async (script: string, execArgv: readonly string[] = [], more: Settings = {}) => {
  const directory = await mkdtemp(join(tmpdir(), 'rollcall-test-'))
  const settings = {
    'server.host': '127.0.0.1',
    'server.http_port': '0',
    'storage.data_dir': join(directory, 'data'),
    'log.file': join(directory, 'log'),
    'authentication.methods.token.bootstrap.token': TOKEN,
    ...more,
  }
  const child = fork(script, [JSON.stringify(settings)], { execArgv: [...execArgv] })
  const told = async (): Promise<Told> => ((await once(child, 'message')) as [Told])[0]
  const { url = '' } = await told()

  return {
    url,
    request: requestsTo(url),
    /** Whether the process has ended. */
    hasEnded: (): boolean => child.exitCode !== null || child.signalCode !== null,
    /** Figure since the last call. */
    figure: async (what = 'figure'): Promise<number> => {
      const answer = told()
      child.send(what)
      return (await answer).figure!
    },
    close: async (): Promise<void> => {
      const ended = once(child, 'exit')
      child.send('close')
      await ended
      await rm(directory, { recursive: true, force: true })
    },
  }
}
