import { execFile } from 'node:child_process'
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { has } from '../crash/rig.ts'
import { startService } from '../start.ts'
import { eventually } from '../wait.ts'
import { testLedger } from './ledger-server.ts'

const run = promisify(execFile)
const guide = readFileSync(resolve(import.meta.dirname, '../../../docs/guides/checkpoints.md'), 'utf8')
/** Named blocks of shell commands. */
const blocks = new Map(
  [...guide.matchAll(/^```sh (\S+)\n([^]*?)^```$/gm)].map(([, name, text]) => [name!, text!] as const),
)
/** Runs a block of the guide in a folder; returns its output. */
const follow = async (name: string, cwd: string, env: NodeJS.ProcessEnv = {}, text = blocks.get(name)) => {
  if (text === undefined) throw new Error(`the guide has no block ${name}`)
  return (await run('sh', ['-euc', text], { cwd, env: { PATH: process.env['PATH'], ...env } })).stdout
}

/** Reason to skip a test without these programs. */
const missing = async (...programs: readonly string[]): Promise<string | false> => {
  for (const program of programs)
    if (!(await has(program))) return `needs ${program} (Debian: apt-get install ${program})`
  return false
}

await t.test(
  'the commands of the guide keep checkpoints, and compare them with the history',
  { skip: await missing('curl', 'jq') },
  async (t) => {
    const service = await startService(t, { 'storage.type': 'embedded' })
    const cwd = service.directory
    const programs = join(cwd, 'programs')
    mkdirSync(programs)
    const main = resolve(import.meta.dirname, '../../src/main.js')
    writeFileSync(join(programs, 'rollcall'), `#!/bin/sh\nexec '${process.execPath}' '${main}' "$@"\n`, { mode: 0o700 })
    const env = {
      PATH: `${programs}:${process.env['PATH']}`,
      ROLLCALL_ADDRESS: service.url,
      ROLLCALL_TOKEN: service.token,
    }
    const log = () => readFileSync(join(cwd, 'log'), 'utf8')
    await service.request('POST', '/audit/v1/ledger/checkpoint')
    await eventually(async () => log().includes('"msg":"checkpoint"'), 'the log has a checkpoint')
    copyFileSync(join(cwd, 'log'), join(cwd, 'rollcall.log'))

    await follow('vkey', cwd, env)
    t.match(readFileSync(join(cwd, 'vkey'), 'utf8'), /^\S+\+[0-9a-f]{8}\+\S{44}\n$/)
    await follow('log', cwd, env)
    const [, , shell = ''] = /^17 3 \* \* \* (\S+) (.*)$/m.exec(guide) ?? []
    const words = shell
      .replace('/var/lib/rollcall-checkpoints', cwd)
      .replace('https://flags.example', service.url)
      .replace('/etc/rollcall-auditor/token', join(cwd, 'token'))
    writeFileSync(join(cwd, 'token'), service.token, { mode: 0o600 })
    t.equal(await follow('crontab', cwd, env, words), '')
    t.match(readdirSync(join(cwd, 'checkpoints')), [/^checkpoint-\d+$/, 'hashes'])
    t.equal(await follow('compare', cwd, env), '')
    t.match(await follow('verify', cwd, env), /^verified \d+ events, size \d+, root \S{44}\n[^]*verified \d+ events/)
  },
)

/** A time-stamping authority on loopback, with its certificate in the folder; returns its address. */
const authorityIn = async (t: Test, folder: string): Promise<string> => {
  const inFolder = (...args: readonly string[]) => run('openssl', args, { cwd: folder })
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', 'authority.key']
  const usage = ['-addext', 'extendedKeyUsage=critical,timeStamping']
  await inFolder('req', '-x509', ...key, '-out', 'authority.pem', '-subj', '/CN=authority', '-days', '2', ...usage)
  writeFileSync(
    join(folder, 'authority.cnf'),
    ['[tsa]', 'default_tsa = own', '[own]', 'serial = serial', 'signer_digest = sha256', 'digests = sha256']
      .concat('default_policy = 1.2.3.4', 'ess_cert_id_alg = sha256', '')
      .join('\n'),
  )
  const stamped = async (query: Buffer): Promise<Buffer> => {
    writeFileSync(join(folder, 'asked.tsq'), query)
    const signer = ['-signer', 'authority.pem', '-inkey', 'authority.key']
    await inFolder(
      'ts',
      '-reply',
      '-config',
      'authority.cnf',
      '-queryfile',
      'asked.tsq',
      ...signer,
      '-out',
      'asked.tsr',
    )
    return readFileSync(join(folder, 'asked.tsr'))
  }
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      stamped(Buffer.concat(chunks)).then(
        (reply) => response.setHeader('content-type', 'application/timestamp-reply').end(reply),
        (error: unknown) => response.writeHead(500).end(String(error)),
      )
    })
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/tsr`
}

await t.test(
  'the commands of the guide stamp a checkpoint, and find a changed one',
  { skip: await missing('curl', 'openssl') },
  async (t) => {
    const folder = t.testdir()
    const retained = join(folder, 'retained.checkpoint')
    const checkpoint = await testLedger().checkpoint()
    writeFileSync(retained, checkpoint)
    const address = await authorityIn(t, folder)
    const text = blocks.get('stamp')!
    t.match(text, 'https://tsa.example/tsr')
    t.match(await follow('stamp', folder, {}, text.replace('https://tsa.example/tsr', address)), /Verification: OK/)
    t.match(await follow('stamped', folder), /Verification: OK[^]*Time stamp: .* GMT/)
    writeFileSync(retained, checkpoint.replace('\n0\n', '\n1\n'))
    await t.rejects(follow('stamped', folder), { message: /message imprint mismatch/i })
  },
)

await t.test('a test runs each block of commands of the guide, except the one for object storage', async (t) => {
  t.strictSame([...blocks.keys()], ['vkey', 'log', 'compare', 'verify', 's3', 'stamp', 'stamped'])
})
