import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import t from 'tap'
import { start } from '../src/app/start.ts'
import { openStores } from '../src/app/stores/stores.ts'
import { systemClock } from '../src/base/clock.ts'
import { loadConfig } from '../src/config/load.ts'
import { rollcallProcess } from './cli/service.ts'
import { freePort } from './free-port.ts'

const folder = mkdtempSync(join(tmpdir(), 'rollcall-ports-'))
t.teardown(() => rmSync(folder, { recursive: true }))

await t.test('a port that is in use makes the start fail with advice, before any file is created', async (t) => {
  const taken = await freePort()
  const holder = createServer()
  await new Promise<void>((listening) => holder.listen(taken, '127.0.0.1', listening))
  t.teardown(() => new Promise((closed) => holder.close(closed)))
  const free = await freePort()
  const data = join(folder, 'new')
  const serve = (args: readonly string[], env = {}) => rollcallProcess(['serve', '--data', data, ...args], env)
  const rows: readonly (readonly [readonly string[], NodeJS.ProcessEnv, string])[] = [
    [
      ['--host', '127.0.0.1', '--port', String(taken)],
      {},
      `error: port ${taken} is in use: choose a different port with --port N\n`,
    ],
    [
      ['--host', '300.1.1.1', '--port', String(free)],
      {},
      'error: 300.1.1.1 is not an address of this machine: choose another with --host ADDRESS\n',
    ],
    [
      ['--host', '127.0.0.1', '--port', String(free)],
      { ROLLCALL_METRICS_ADDRESS: `127.0.0.1:${taken}` },
      `error: port ${taken} is in use: choose a different port with metrics.address\n`,
    ],
  ]
  for (const [args, env, message] of rows) {
    const { exit, out, err } = await serve(args, env)
    t.strictSame([exit, err], [1, message])
    t.notMatch(out, 'client_token')
    t.notOk(existsSync(data), 'nothing was made')
  }

  const main = resolve(import.meta.dirname, '../src/main.js')
  const args = [main, 'serve', '--host', '127.0.0.1', '--port', String(free), '--data', data]
  const child = spawn(process.execPath, args, {
    env: { PATH: process.env['PATH'] },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  let said = ''
  for await (const chunk of child.stdout.setEncoding('utf8')) {
    said += String(chunk)
    if (said.includes('rollcall is listening')) child.kill('SIGTERM')
  }
  t.match(said, /"client_token":"rcb_/, 'the bootstrap token was not spent')
  t.match(said, `"open":"http://127.0.0.1:${free}/"`, 'the address to open in a browser')
})

await t.test('during the start requests are answered as "starting", and no connection is refused', async (t) => {
  const port = await freePort()
  const flags = {
    'server.host': '127.0.0.1',
    'server.http_port': String(port),
    'storage.data_dir': join(folder, 'slow'),
    'log.file': join(folder, 'log'),
  }
  const { config } = loadConfig({ env: {}, flags })
  const stores = await openStores(config, systemClock, {})
  let open = (): void => undefined
  const gate = new Promise<void>((opened) => (open = opened))
  const views = {
    ...stores.views,
    checkpoint: async (...args: Parameters<typeof stores.views.checkpoint>) => {
      await gate
      return stores.views.checkpoint(...args)
    },
  }
  const seen = { running: false }
  const starting = start(config, { stores: { ...stores, views } }).finally(() => (seen.running = true))
  const ask = async (path: string) => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`)
    return { status: answer.status, text: await answer.text() }
  }
  t.match(await ask('/livez'), { status: 200 })
  t.match(await ask('/readyz'), { status: 503, text: '{"status":"not_ready"}' })
  t.match(await ask('/auth/v1/self'), { status: 503, text: /backend_unavailable/ })
  open()
  let asked = 0
  for (; !seen.running; asked++) t.equal((await ask('/livez')).status, 200)
  t.comment(`${asked} asked while it took over`)
  const service = await starting
  t.match(await ask('/readyz'), { status: 200 })
  t.match(await ask('/auth/v1/self'), { status: 401 })
  await service.close()
  await t.rejects(ask('/livez'))
})
