import { execFile, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'

const root = resolve(import.meta.dirname, '../..')
const readme = readFileSync(join(root, 'README.md'), 'utf8')
const run = promisify(execFile)

/** Curl commands of the README in order. */
const curls = [...readme.matchAll(/```sh\n([\s\S]*?)```/g)]
  .flatMap(([, block]) => block!.split('\n'))
  .filter((line) => line.startsWith('curl '))

type Service = {
  readonly port: string
  readonly token: string | undefined
  readonly kill: (signal: NodeJS.Signals) => Promise<void>
}

/** Runs `npm start` like the README, on a free port with its own directory. */
const start = (directory: string): Promise<Service> =>
  new Promise((started, failed) => {
    const scripts = (
      JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: Record<string, string> }
    ).scripts
    const [command = '', ...args] = scripts['start']!.split(' ')
    const env = {
      ...process.env,
      ROLLCALL_STORAGE_DATA_DIR: directory,
      ROLLCALL_SERVER_HTTP_PORT: '0',
      ROLLCALL_SERVER_HOST: '127.0.0.1',
    }
    const child = spawn(command, args, { cwd: root, env, stdio: ['ignore', 'pipe', 'inherit'] })
    let log = ''
    child.stdout.on('data', (data: Buffer) => {
      log += String(data)
      const port = /"url":"http:\/\/127\.0\.0\.1:(\d+)"/.exec(log)?.[1]
      if (port === undefined) return
      const kill = (signal: NodeJS.Signals) =>
        new Promise<void>((ended) => {
          child.once('exit', () => ended())
          child.kill(signal)
        })
      started({ port, token: /"client_token":"([^"]+)"/.exec(log)?.[1], kill })
    })
    child.once('exit', (code) => failed(new Error(`npm start ended with ${code}: ${log}`)))
  })

const curl = async (command: string, { port }: Service, token: string) => {
  const line = command.replaceAll('localhost:8080', `127.0.0.1:${port}`)
  const { stdout } = await run('sh', ['-c', line], { env: { ...process.env, TOKEN: token } })
  return JSON.parse(stdout) as Record<string, unknown>
}

await t.test('the commands in the README work, and a killed service keeps all data', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'rollcall-readme-'))
  t.teardown(() => rmSync(directory, { recursive: true }))
  t.equal(curls.length, 8)

  const first = await start(directory)
  const token = first.token!
  t.match(token, /^rcb_/)
  const answers: Record<string, unknown>[] = []
  for (const command of curls) answers.push(await curl(command, first, token))
  const [ci, shop, flag, rollout, evaluation, whole, team, able] = answers
  t.match(ci, { clientToken: /^rct_/, authentication: { method: 'METHOD_TOKEN', status: 'ACTIVE' } })
  t.match(shop, { authentication: { metadata: { 'io.service.auth.token.namespace': 'default' } } })
  t.match(flag, { key: 'checkout', enabled: false })
  t.match(rollout, { type: 'THRESHOLD_ROLLOUT_TYPE', threshold: { percentage: 50, value: true } })
  t.match(evaluation, { flagKey: 'checkout', reason: /MATCH|DEFAULT/, trace: [{ kind: 'rollout' }] })
  t.match(whole, { key: 'checkout', namespaceKey: 'default' })
  t.match(team, { authentication: { grants: [{ role: 'editor' }, { role: 'viewer' }] } })
  t.match(able, { entries: [{ reason: 'full_reach' }, { reason: 'full_reach' }, { name: 'shop' }, { name: 'team' }] })

  await first.kill('SIGKILL')
  const second = await start(directory)
  t.teardown(() => second.kill('SIGTERM'))
  t.equal(second.token, undefined, 'the bootstrap token is made once')
  t.strictSame(await curl(curls[5]!, second, token), whole)
  const again = await curl(curls[4]!, second, ci!['clientToken'] as string)
  t.equal(again['enabled'], evaluation!['enabled'])
})
