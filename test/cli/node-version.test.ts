import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { minVersion, satisfies } from 'semver'
import t from 'tap'
import { OLDEST_NODE, tooOld } from '../../src/cli/node-version.ts'

const root = resolve(import.meta.dirname, '../../..')

await t.test('the oldest supported Node.js is the one in package.json', (t) => {
  const { engines } = JSON.parse(readFileSync(resolve(root, 'package.json'), 'utf8')) as { engines: { node: string } }
  t.equal(minVersion(engines.node)?.version, `${OLDEST_NODE}.0`)
  for (const version of [`${OLDEST_NODE}.0`, '20.20.2', '22.13.0', '24.21.0', process.versions.node]) {
    t.equal(tooOld(version), undefined, version)
    t.ok(satisfies(version, engines.node), version)
  }
  t.equal(tooOld('18.20.4'), 'Node.js 20.19 or later is needed; this is 18.20.')
  t.equal(tooOld('20.18.9'), 'Node.js 20.19 or later is needed; this is 20.18.')
  t.end()
})

await t.test('on an older Node.js an error is printed before any module is loaded', async (t) => {
  const versions = { ...process.versions, node: '18.20.4' }
  const older = `Object.defineProperty(process, 'versions', { value: ${JSON.stringify(versions)} })`
  const loaded = `process.on('exit', () => console.log(process.moduleLoadList.filter((name) => /sqlite|http$/.test(name)).length))`
  const args = ['--import', `data:text/javascript,${older};${loaded}`, resolve(root, 'dist/src/main.js'), 'serve']
  const { code, out, err } = await new Promise<{ code: unknown; out: string; err: string }>((told) =>
    execFile(process.execPath, args, (error, out, err) => told({ code: error?.code, out, err })),
  )
  t.strictSame([code, err], [2, 'error: Node.js 20.19 or later is needed; this is 18.20.\n'])
  t.equal(out, '0\n', 'the modules of the service are not loaded')
})
