import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t from 'tap'
import { ownMongo, ownRedis } from '../adapters/servers.ts'
import { failureOf } from '../stand-ins/built-program.ts'
import { eventually } from '../wait.ts'

const root = resolve(import.meta.dirname, '../../..')

const isThere = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

await t.test('a test without its program names the program and its Debian package', async (t) => {
  const empty = t.testdir()
  const { PATH, XDG_CACHE_HOME } = process.env
  t.teardown(() => {
    process.env['PATH'] = PATH
    if (XDG_CACHE_HOME === undefined) delete process.env['XDG_CACHE_HOME']
    else process.env['XDG_CACHE_HOME'] = XDG_CACHE_HOME
  })
  Object.assign(process.env, { PATH: empty, XDG_CACHE_HOME: empty })
  t.match((await ownMongo(t)).skip, /FerretDB.* no go on the path \(Debian: apt-get install golang\)$/)
  t.match((await ownRedis(t)).skip, /redis-server.*\(Debian: apt-get install redis-server\)$/)
})

await t.test('a failed build names its command', async (t) => {
  const cmd = 'go mod download -json x'
  for (const [failure, says] of [
    [{ cmd, code: 1, stdout: '{ "Error": "x: no such host\\nmore" }' }, `${cmd} failed: x: no such host`],
    [{ cmd, code: 1, stderr: 'disk full\nmore' }, `${cmd} failed: disk full`],
    [{ cmd, code: 2 }, `${cmd} failed with exit code 2`],
    [{ cmd, code: null, killed: true }, `${cmd} did not end within its time limit`],
  ] as const)
    t.equal(failureOf(failure), says)
})

await t.test('a process that outlives a run is killed, fails the run, and no folder of the run is left', async (t) => {
  const project = t.testdir({ tmp: {} })
  const [dist, tmp] = [join(project, 'dist/test'), join(project, 'tmp')]
  mkdirSync(dist, { recursive: true })
  cpSync(import.meta.dirname, join(dist, 'ci'), { recursive: true, filter: (file) => !file.endsWith('.test.js') })
  cpSync(resolve(import.meta.dirname, '../wait.js'), join(dist, 'wait.js'))
  const loop = 'dist/src/base/event-loop.js'
  cpSync(join(root, loop), join(project, loop))
  symlinkSync(join(root, 'node_modules'), join(project, 'node_modules'))
  writeFileSync(join(project, 'package.json'), '{ "type": "module" }')
  writeFileSync(
    join(dist, 'leaving.test.js'),
    `import { spawn } from 'node:child_process'
    import { mkdtempSync, writeFileSync } from 'node:fs'
    import { tmpdir } from 'node:os'
    import t from 'tap'
    mkdtempSync(tmpdir() + '/left-')
    const left = spawn(process.execPath, ['-e', 'require("net").createServer().listen(0)'], { stdio: 'ignore' })
    left.unref()
    writeFileSync('left', String(left.pid))
    t.pass()`,
  )
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^_?TAP/.test(name)))
  const run = spawnSync(process.execPath, [join(dist, 'ci/tap.js'), 'service'], {
    env: { ...env, TMPDIR: tmp },
    encoding: 'utf8',
  })
  t.match(run.stdout, /^# \{ total: 1, pass: 1, fail: 0, skip: 0 \}$/m, 'the test passes')
  t.equal(run.status, 1, 'the run fails')
  t.match(run.stderr, /^# outlived the tests: .* -e require/m)
  t.strictSame(readdirSync(tmp), [])
  const left = Number(readFileSync(join(project, 'left'), 'utf8'))
  await eventually(() => !isThere(left), 'the end of the process')
})
