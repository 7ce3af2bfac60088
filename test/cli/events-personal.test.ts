import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t from 'tap'
import { canonical } from '../../src/base/canonical.ts'
import type { Manifest } from '../../src/verifier/export/manifest.ts'
import { startService } from '../start.ts'
import { ledgerServer, VKEY } from './ledger-server.ts'
import { rollcall } from './service.ts'

const AGENT = 'canary-agent/9'
const python = resolve(import.meta.dirname, '../../../test/verifier/verify.py')
const hasPython = spawnSync('python3', ['-c', 'import sys; sys.exit(sys.version_info < (3, 8))']).status === 0

/** Replaces the content of an exported file, and its hash in the manifest. */
const rewrite = (path: string, change: (text: string) => string): void => {
  const text = change(readFileSync(path, 'utf8'))
  const manifest = JSON.parse(readFileSync(`${path}.manifest.json`, 'utf8')) as Manifest
  const sha256 = createHash('sha256').update(text).digest('hex')
  const files = manifest.files.map((file) => ({ ...file, sha256, bytes: Buffer.byteLength(text) }))
  writeFileSync(path, text)
  writeFileSync(`${path}.manifest.json`, `${canonical({ ...manifest, files })}\n`)
}

await t.test('--personal opens the personal data of shown and exported events', async (t) => {
  const service = await startService(t)
  const body = { key: 'f', name: 'F' }
  await service.request('POST', '/api/v1/namespaces/default/flags', body, { 'user-agent': AGENT })
  const server = await ledgerServer(t, service)
  const env = { ROLLCALL_ADDRESS: server.address, ROLLCALL_TOKEN: service.token }
  const events = (...args: readonly string[]) => rollcall(['events', ...args], env)
  const path = (name: string): string => join(t.testdirName, name)
  t.testdir()

  const position = (await events('list', '--type', 'FlagCreated', '-o', 'name')).out.trim()
  for (const moment of [position, '2100-01-01'])
    t.notMatch((await events('show', moment)).out, new RegExp(`PERSONAL|${AGENT}`))
  t.match(
    (await events('show', position, '--personal')).out,
    /PERSONAL +\{"\/meta\/ip":\{"status":"open","value":"127\.0\.0\.1"\},"\/meta\/userAgent":.*canary-agent/,
  )
  const field = ['--field', 'personal./meta/userAgent.status']
  t.equal((await events('show', position, '--personal', ...field)).out, 'open')

  t.match(await events('export', path('open'), '--personal', '--type', 'Flag*'), { exit: 0, err: /^Exported 2 events/ })
  t.match(await events('export', path('sealed'), '--type', 'Flag*'), { exit: 0, err: /^Exported 2 events/ })
  const [opened, sealed] = [readFileSync(path('open'), 'utf8'), readFileSync(path('sealed'), 'utf8')]
  t.match(opened, AGENT)
  t.equal(opened.replaceAll(/,"personal":\{.*\}\n/g, '}\n'), sealed, 'the stored texts are unchanged')
  t.match(JSON.parse(readFileSync(path('open.manifest.json'), 'utf8')), { personal: 'open', format: 'ndjson' })
  const verified = async (name: string) => {
    if (hasPython) {
      const args = ['-B', python, 'export', path(`${name}.manifest.json`), '--vkey', VKEY]
      const { stdout } = spawnSync('python3', args, { encoding: 'utf8' })
      t.match(JSON.parse(stdout), { verdict: name === 'open' || name === 'sealed' ? 'ok' : 'malformed export' }, name)
    }
    return events('verify', path(name), '--vkey', VKEY)
  }
  for (const name of ['open', 'sealed']) t.match(await verified(name), { exit: 0, out: /^verified 2 events/ })
  const changes: readonly (readonly [name: string, options: readonly string[], change: (text: string) => string])[] = [
    ['bare', ['--personal'], (text) => text.replace(/,"personal":\{.*\}\n/, '}\n')],
    ['other', ['--personal'], (text) => text.replace('"status":"open"', '"status":"shut"')],
    ...['5', 'true', '""'].map(
      (value, n) =>
        [
          `value-${n}`,
          ['--personal'],
          (text: string) => text.replace(/,"personal":\{.*\}\n/, `,"personal":${value}}\n`),
        ] as const,
    ),
    ['added', [], (text) => text.replace('}\n', ',"personal":{}}\n')],
  ]
  for (const [name, options, change] of changes) {
    t.equal((await events('export', path(name), '--type', 'Flag*', ...options)).exit, 0)
    rewrite(path(name), change)
    t.match(await verified(name), { exit: 3, out: /index \d+: changed/ }, name)
  }
  const refused = await events('export', path('x'), '--personal', '--data', join(service.directory, 'data'))
  t.match(refused, { exit: 2, err: /Only a service opens personal data/ })
})
